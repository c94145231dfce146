"""Judges the gradients that AOTAutograd traced by those that autograd computes."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.gradient_names import backward_of
from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    doubled,
    is_plain,
    leaves,
)
from fxls.runtime.numbers.judging.gradients import Gradients, gradients_in
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed_all, seen_in
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import is_view
from fxls.verdicts.comparison import Evidence

__all__ = ["WrongTracedGradient", "wrong_traced_gradient"]

any_torch: Any = torch

_NEAR = 1e-3
"""Gradients that differ by less, as a part of the largest, are taken for the same: they
come through all of a model, by other operators than autograd's."""
_NEAR_EPS = 16
"""So many roundings, where the numbers have fewer digits."""


@dataclass(frozen=True, slots=True)
class WrongTracedGradient:
    """A gradient that a traced graph computes otherwise."""

    inputs: Sequence[str]
    """The inputs of the captured graph of which it is."""
    through: str
    """The captured node through which it is led back wrongly; empty where none says it."""
    names: Sequence[str]
    """The traced nodes that lead it through this node."""
    evidence: Evidence


def wrong_traced_gradient(
    captured: ReplayedGraph,
    inputs: Mapping[str, Any],
    traced: ReplayedGraph,
    given: Mapping[str, Any],
    values: Mapping[str, Any],
) -> WrongTracedGradient | None:
    """The first gradient that was traced otherwise, with what the traced graph is given
    and the values of its nodes; None where all are right, or torch does not say which is
    which. Raises `NotRun`.

    Of gradients that cancel out, as in front of a batch norm, nothing but roundings is
    left: these are small beside the largest gradient, and are gone in float64.
    """
    tangents = _tangents(captured, traced, values)
    traced_of = dict(_gradients_of(captured, traced))
    if not tangents or not traced_of:
        return None
    own = gradients_in(captured, inputs, tangents, Mode.OWN)
    apart = {
        name: node
        for name, node in traced_of.items()
        if is_plain(values.get(node))
        and name in own
        and not _is_near(values[node], own[name])
    }
    if not apart:
        return None
    exact = gradients_in(captured, inputs, tangents, Mode.EXACT)
    off = {name: _furthest(values[node], own[name]) for name, node in apart.items()}
    largest = _largest(own)
    small = {name for name in apart if off[name] <= _bound(own[name]) * largest}
    again = _in_float64(traced, given, [apart[name] for name in small])
    wrong: dict[str, Evidence] = {}
    for name, node in apart.items():
        if name in small and _is_near(again[node], exact[name], off[name]):
            continue
        value, one = values[node], own[name]
        right = functools.partial(exact.get, name)
        found = judged(value, one, lambda: None, right, LENIENT)
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            wrong[name] = found.evidence
    if not wrong:
        return None
    through, names = _through(captured, inputs, own, traced, values)
    evidence = msgspec.structs.replace(next(iter(wrong.values())), beside="autograd")
    return WrongTracedGradient([*wrong], through, names, evidence)


def _tangents(
    captured: ReplayedGraph, traced: ReplayedGraph, values: Mapping[str, Any]
) -> Gradients:
    """The gradients that a traced graph is given of what the captured one returns; empty
    where it is given some of something else.
    """
    found: dict[int, torch.Tensor] = {}
    for row in traced.state.rows:
        of = getattr(row.node.meta.get("desc"), "output", None)
        if row.opcode != "placeholder" or of is None:
            continue
        at, value = getattr(of, "idx", None), cast("Any", values.get(row.name))
        if type(of).__name__ != "PlainAOTOutput" or not isinstance(at, int):
            return {}
        if not is_plain(value) or at >= len(captured.outputs):
            return {}
        found[at] = value
    return found


def _gradients_of(
    captured: ReplayedGraph, traced: ReplayedGraph
) -> Iterator[tuple[str, str]]:
    """The inputs of a captured graph, and the traced nodes that are their gradients."""
    said: Sequence[Any] = traced.state.rows[-1].node.meta.get("desc") or ()
    if len(said) != len(traced.outputs):
        return
    for one, of in zip(traced.outputs, said, strict=True):
        at = getattr(getattr(of, "grad_of", None), "idx", None)
        if (
            isinstance(one, NodeName)
            and isinstance(at, int)
            and at < len(captured.inputs)
        ):
            yield captured.inputs[at], str(one)


def _in_float64(
    traced: ReplayedGraph, given: Mapping[str, Any], wanted: Sequence[str]
) -> Mapping[str, Any]:
    """Values of the traced nodes that are wanted; nothing is computed for none."""
    if not wanted:
        return {}
    values = formed_all(traced.inputs, given, Mode.EXACT, traced.order)
    with alone():
        compute(traced, values, Mode.EXACT, wanted=wanted)
    return values


def _is_near(value: torch.Tensor, own: torch.Tensor, least: float = 0.0) -> bool:
    """Whether two gradients are the same, as a part of the largest; or of `least`, where
    that is more.
    """
    if value.shape != own.shape or not own.is_floating_point():
        return value.shape == own.shape and bool(any_torch.equal(value, own))
    most = float(doubled(own).abs().max()) if own.numel() else 0.0
    return _furthest(value, own) <= _bound(own) * max(most, least)


def _bound(own: torch.Tensor) -> float:
    """As what part of the largest others may differ from a gradient."""
    return max(_NEAR, _NEAR_EPS * float(any_torch.finfo(own.dtype).eps))


def _largest(gradients: Mapping[str, Any]) -> float:
    """The largest number in those gradients that are finite."""
    found = [
        float(doubled(one).abs().max())
        for one in gradients.values()
        if is_plain(one) and one.numel()
    ]
    return max(filter(math.isfinite, found), default=0.0)


def _furthest(value: torch.Tensor, own: torch.Tensor) -> float:
    """How far two gradients are apart where they differ most; infinite where they are not
    of one shape.
    """
    if value.shape != own.shape:
        return math.inf
    return float((doubled(value) - doubled(own)).abs().max()) if own.numel() else 0.0


def _through(
    captured: ReplayedGraph,
    inputs: Mapping[str, Any],
    own: Mapping[str, Any],
    traced: ReplayedGraph,
    values: Mapping[str, Any],
) -> tuple[str, Sequence[str]]:
    """The first captured node, from the last one on, through which a gradient is not led
    back as autograd does it, and the traced nodes that do it.
    """
    made: dict[str, list[Row]] = {}
    for row in traced.rows:
        if name := backward_of(row.node.meta):
            made.setdefault(name, []).append(row)
    given, _ = seen_in(captured, inputs)
    for row in reversed(captured.rows):
        rows = made.get(_source_name(row), [])
        gradient = own.get(row.name)
        if not rows or gradient is None:
            continue
        led = attempt(
            lambda row=row, of=gradient: _led_back(captured, row, given, of, own)
        )
        if isinstance(led, Raised):
            return "", ()
        computed: list[Any] = [values.get(one.name) for one in rows]
        for one in led:
            alike = [other for other in computed if is_plain(other)]
            if not any(_is_near(other, one) for other in alike):
                computing = [one for one in rows if not is_view(one.target)] or rows
                return row.name, [one.name for one in computing]
    return "", ()


def _led_back(
    captured: ReplayedGraph,
    row: Row,
    given: Mapping[str, Any],
    gradient: Any,
    wanted: Collection[str],
) -> Sequence[torch.Tensor]:
    """What a node leads back to what it reads, of the gradient of what it gives.

    Others than the `wanted` values have no gradient, such as what is detached.
    """
    read: dict[str, Any] = {}
    for name in captured.uses(row):
        value: Any = given[name]
        if name in wanted and is_plain(value) and value.is_floating_point():
            value = value.detach().requires_grad_()
        read[name] = value
    needed = [one for one in read.values() if getattr(one, "requires_grad", False)]
    with any_torch.enable_grad():
        made = captured.run(row, read.__getitem__)
    if not is_plain(made) or not needed:
        raise NotRun("it gives no tensor")
    found = any_torch.autograd.grad(made, needed, gradient, allow_unused=True)
    return [one for one in found if one is not None]


def _source_name(row: Row) -> str:
    """What torch calls a captured node where others say that they are of its backward."""
    stack = row.node.meta.get("source_fn_stack")
    if not isinstance(stack, list | tuple) or not stack:
        return row.name
    last = leaves(cast("Sequence[Any]", stack)[-1])
    return last[0] if last and isinstance(last[0], str) else row.name
