"""Cuts two captured graphs around a change of gradients alone, and writes it as a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, doubled
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, explained, judged
from fxls.runtime.numbers.replaying import alone, replayed
from fxls.runtime.numbers.scripts.reproducing import (
    OF_BOTH,
    TORCH,
    Cut,
    cut,
    inputs_of_both,
)
from fxls.runtime.numbers.scripts.script import function_of, script
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.passes.graph_state import is_same
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_gradients"]

any_torch: Any = torch


def of_gradients(
    name: str,
    graphs: tuple[ReplayedGraph, ReplayedGraph],
    inputs: Mapping[str, Any],
) -> Sequence[Reproducer]:
    """The script for a change that leaves each value as it was, and not its gradient: both
    graphs around the first altered node, of which the gradients differ.
    """
    before, after = graphs
    values = replayed(before, inputs).values
    claim = f"{name} replaces nodes by others that have another gradient."
    for row in after.rows:
        old = before.by_name.get(row.name)
        if old is None or is_same(old, row):
            continue
        given = values.without(row.name)
        names = inputs_of_both(graphs, given, row.name)
        both = tuple(cut(one, given, row.name, names) for one in graphs)
        found = _written(both, given, claim)
        if found is not None:
            return [found]
    return []


def _written(
    cuts: Sequence[Cut], given: Mapping[str, Any], claim: str
) -> Reproducer | None:
    old, new = cuts
    functions = [function_of(old.graph, "before"), function_of(new.graph, "after")]
    for texts, said, values in variants(old.inputs, given):
        ordered = [values[name] for name in old.inputs]
        own, actual = (_gradients(one.graph, ordered) for one in cuts)
        exact = _gradients(old.graph, [_doubled(one) for one in ordered])
        if own is None or actual is None or exact is None:
            continue
        found = judged(actual, own, lambda: None, lambda e=exact: e, LENIENT)
        if found.verdict is not Verdict.WRONG:
            continue
        limit = explained(own, None, exact, LENIENT) or 0.0
        text = script(functions, texts, limit, of_gradients=True)
        count = max(old.nodes, new.nodes)
        return Reproducer(claim, text, count, False, said, TORCH, OF_BOTH)  # noqa: FBT003  # it is a field
    return None


def _gradients(graph: Any, given: Sequence[Any]) -> torch.Tensor | None:
    """The gradients of all inputs in a row, as the script computes them."""

    def run() -> Any:
        with alone(), any_torch.enable_grad():
            own = [one.detach().clone() if _is_tensor(one) else one for one in given]
            wanted = [
                one.requires_grad_()
                for one in own
                if _is_tensor(one) and one.is_floating_point()
            ]
            if not wanted:
                raise NotRun("nothing that it is given has a gradient")
            output = fx.GraphModule({}, graph)(*own)
            if not output.requires_grad:
                return any_torch.cat([one.detach().reshape(-1) * 0 for one in wanted])
            any_torch.manual_seed(0)
            seed = any_torch.randn(output.shape).to(output.dtype)
            found = any_torch.autograd.grad(
                *(output, wanted, seed),
                allow_unused=True,
                materialize_grads=True,
            )
            return any_torch.cat([one.reshape(-1) for one in found])

    found = attempt(run)
    return None if isinstance(found, Raised) else found


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _doubled(value: Any) -> Any:
    return doubled(value) if isinstance(value, torch.Tensor) else value
