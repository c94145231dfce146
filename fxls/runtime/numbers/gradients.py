"""The gradients of two captured graphs, where one was made of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, randomness
from fxls.runtime.numbers.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed, raised_by
from fxls.runtime.passes.graph_state import is_same
from fxls.verdicts.comparison import Evidence

__all__ = ["WrongGradient", "changed_names", "wrong_gradient"]

any_torch: Any = torch

_Numbers = Mapping[str, torch.Tensor | None]
_Returned = list[Any]


@dataclass(frozen=True, slots=True)
class WrongGradient:
    """An input whose gradient is another one in the graph behind."""

    name: str
    evidence: Evidence
    count: int
    """Of so many inputs it is."""


def wrong_gradient(
    before: ReplayedGraph, after: ReplayedGraph, inputs: Mapping[str, Any]
) -> WrongGradient | None:
    """The first input whose gradient is wrong; raises `NotRun`.

    Both are given the same gradients of what they return, which are random, and draw
    the same random numbers, if they do so in the same way.
    """
    wanted = [
        name
        for name in before.inputs
        if name in after.inputs and _needs_gradient(before, name, inputs)
    ]
    if not wanted or len(before.outputs) != len(after.outputs):
        return None
    drawn: list[_Returned] = []
    got = _gradients(after, inputs, wanted, Mode.OWN, drawn)
    runs = {Mode.OWN: _gradients(before, inputs, wanted, Mode.OWN, drawn)}
    if drawn and not _is_drawn_alike(drawn):
        raise NotRun("it draws random numbers in another way")

    def value(name: str, mode: Mode) -> torch.Tensor | None:
        if mode not in runs:
            runs[mode] = _gradients(before, inputs, wanted, mode)
        found = runs[mode].get(name)
        if found is None and isinstance(inputs[name], torch.Tensor):
            return any_torch.zeros_like(formed(inputs[name], mode, 0))
        return found

    wrong: list[tuple[str, Evidence]] = []
    for name in wanted:
        own, actual = value(name, Mode.OWN), got.get(name)
        assert own is not None, "what is wanted is a tensor"
        found = judged(
            any_torch.zeros_like(own) if actual is None else actual,
            own,
            lambda name=name: value(name, Mode.MOVED),
            lambda name=name: value(name, Mode.EXACT),
            LENIENT,
        )
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            wrong.append((name, found.evidence))
    return WrongGradient(*wrong[0], len(wrong)) if wrong else None


def changed_names(
    before: ReplayedGraph, after: ReplayedGraph
) -> Sequence[tuple[ReplayedGraph, str]]:
    """The nodes that were made, or else altered, or else removed."""
    made = [row.name for row in after.rows if row.name not in before.by_name]
    altered = [
        row.name
        for row in after.rows
        if row.name in before.by_name and not is_same(before.by_name[row.name], row)
    ]
    gone = [row.name for row in before.rows if row.name not in after.by_name]
    if made or altered:
        return [(after, name) for name in made or altered]
    return [(before, name) for name in gone]


def _needs_gradient(graph: ReplayedGraph, name: str, inputs: Mapping[str, Any]) -> bool:
    noted = graph.by_name[name].node.meta.get("example_value")
    value = inputs.get(name)
    return isinstance(value, torch.Tensor) and bool(
        getattr(noted, "requires_grad", False)
    )


def _gradients(
    graph: ReplayedGraph,
    inputs: Mapping[str, Any],
    wanted: Sequence[str],
    mode: Mode,
    drawn: list[_Returned] | None = None,
) -> _Numbers:
    """The gradients of inputs; what is returned is added to `drawn` if it is by chance."""
    values: dict[str, Any] = {}
    leaves: dict[str, torch.Tensor] = {}
    with alone(), any_torch.enable_grad():
        any_torch.manual_seed(0)
        start = randomness()
        for name in graph.inputs:
            value = formed(inputs[name], mode, graph.order[name])
            if name in wanted:
                leaves[name] = value.requires_grad_()
                value = value.clone()  # a leaf may not be changed in place
            values[name] = value
        compute(graph, values, mode)
        if drawn is not None and not any_torch.equal(start, randomness()):
            drawn.append([values.get(str(name)) for name in graph.outputs])
        returned: list[torch.Tensor] = []
        given: list[torch.Tensor] = []
        for at, name in enumerate(graph.outputs):
            value = values.get(str(name))
            if isinstance(value, torch.Tensor) and value.requires_grad:
                generator = any_torch.Generator().manual_seed(at)
                gradient = any_torch.randn(value.shape, generator=generator)
                returned.append(value)
                given.append(gradient.to(value.dtype).to(value.device))
        if not returned:
            return {}
        asked = [*leaves.values()]
        found = attempt(
            lambda: any_torch.autograd.grad(returned, asked, given, allow_unused=True)
        )
    if isinstance(found, Raised):
        raise NotRun(f"its gradients cannot be computed: {raised_by(found.error)}")
    return dict(zip(leaves, found, strict=True))


def _is_drawn_alike(drawn: Sequence[_Returned]) -> bool:
    """Whether both graphs drew, and returned the same because of it."""
    if len(drawn) != 2:
        return False
    return all(
        not isinstance(one, torch.Tensor)
        or (one.shape == other.shape and any_torch.allclose(one, other, equal_nan=True))
        for one, other in zip(*drawn, strict=True)
    )
