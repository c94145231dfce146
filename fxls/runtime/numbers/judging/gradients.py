"""The gradients of two captured graphs, where one was made of the other."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, randomness
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.random_nodes import RANDOM
from fxls.runtime.numbers.replaying import (
    Mode,
    alone,
    compute,
    formed,
    raised_by,
    rounding,
)
from fxls.runtime.numbers.room import Room, Values, value_of
from fxls.runtime.passes.graph_state import is_same
from fxls.verdicts.comparison import Evidence

__all__ = ["Gradients", "WrongGradient", "gradients_in", "wrong_gradient"]

any_torch: Any = torch

_Returned = list[Any]
Gradients = Mapping[int, torch.Tensor]
"""Of what a graph returns, by which of them it is."""

_TIMES = 3
"""So much more than its values a graph needs, with what autograd keeps and gives."""


@dataclass(frozen=True, slots=True)
class WrongGradient:
    """A value whose gradient is another one in the graph behind."""

    of: str
    """The node: the last one of which that is so, or else an input."""
    evidence: Evidence
    inputs: Sequence[str]
    """The inputs of which it is."""
    through: Sequence[tuple[ReplayedGraph, str]]
    """The nodes that were made or altered, or else removed, by which it is."""


def wrong_gradient(
    before: ReplayedGraph, after: ReplayedGraph, inputs: Mapping[str, Any]
) -> WrongGradient | None:
    """The gradient that is wrong, of several inputs where it began; raises `NotRun`.

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
    wrong = dict(_wrong_among(before, after, inputs, wanted, wanted))
    if not wrong:
        return None
    # Where it began is asked only now, as the gradients of all values are asked for.
    inner = [
        row.name
        for row in reversed(before.rows)
        if row.opcode != "placeholder" and row.name in after.by_name
    ]
    try:
        last = next(_wrong_among(before, after, inputs, wanted, inner), None)
    except NotRun:
        last = None
    of, evidence = last or next(iter(wrong.items()))
    through = _leading_back(before, after, of) or _changed_names(before, after)
    return WrongGradient(of, evidence, [*wrong], through)


def gradients_in(
    graph: ReplayedGraph, inputs: Mapping[str, Any], given: Gradients, mode: Mode
) -> Values:
    """The gradients of all values of a graph that leads some back to its inputs; raises
    `NotRun`, also where it draws random numbers.
    """
    wanted = [one for one in graph.inputs if _needs_gradient(graph, one, inputs)]
    drawn: list[_Returned] = []
    asked = [row.name for row in graph.rows]
    found = _gradients(graph, inputs, wanted, asked, mode, drawn, given)
    if drawn:
        raise NotRun(RANDOM)
    return found


def _wrong_among(
    before: ReplayedGraph,
    after: ReplayedGraph,
    inputs: Mapping[str, Any],
    wanted: Sequence[str],
    asked: Sequence[str],
) -> Iterator[tuple[str, Evidence]]:
    """The values of `asked` whose gradients are wrong, in this order; raises `NotRun`."""
    drawn: list[_Returned] = []
    got = _gradients(after, inputs, wanted, asked, Mode.OWN, drawn)
    runs = {Mode.OWN: _gradients(before, inputs, wanted, asked, Mode.OWN, drawn)}
    if drawn and not _is_drawn_alike(drawn):
        raise NotRun("it draws random numbers in another way")

    def value(name: str, mode: Mode) -> torch.Tensor | None:
        if mode not in runs:
            runs[mode] = _gradients(before, inputs, wanted, asked, mode)
        return runs[mode].get(name)

    for name in asked:
        own, actual = value(name, Mode.OWN), got.get(name)
        if own is None:
            continue
        if actual is not None and actual.shape != own.shape:
            continue  # it is another value, which has this name now
        found = judged(
            any_torch.zeros_like(own) if actual is None else actual,
            own,
            lambda name=name: value(name, Mode.MOVED),
            lambda name=name: value(name, Mode.EXACT),
            LENIENT,
            lambda name=name: value(name, Mode.OTHERWISE),
        )
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            yield name, found.evidence


def _leading_back(
    before: ReplayedGraph, after: ReplayedGraph, of: str
) -> Sequence[tuple[ReplayedGraph, str]]:
    """The nodes by which the gradient of a value is computed of those that are right, if
    they were made or altered; else those that were removed.
    """
    found: set[str] = set()
    for row in after.rows:
        reads = after.uses(row)
        is_made = row.name not in before.by_name and not found.isdisjoint(reads)
        if is_made or (of in reads and _is_changed(before, after, row.name)):
            found.add(row.name)
    if found:
        return [(after, row.name) for row in after.rows if row.name in found]
    readers = [row.name for row in before.rows if of in before.uses(row)]
    return [(before, name) for name in readers if name not in after.by_name]


def _is_changed(before: ReplayedGraph, after: ReplayedGraph, name: str) -> bool:
    old = before.by_name.get(name)
    return old is None or not is_same(old, after.by_name[name])


def _changed_names(
    before: ReplayedGraph, after: ReplayedGraph
) -> Sequence[tuple[ReplayedGraph, str]]:
    """The nodes that were made, or else altered, or else removed."""
    changed = [r.name for r in after.rows if _is_changed(before, after, r.name)]
    made = [name for name in changed if name not in before.by_name]
    altered = [name for name in changed if name in before.by_name]
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
    asked: Sequence[str],
    mode: Mode,
    drawn: list[_Returned] | None = None,
    given: Gradients | None = None,
) -> Values:
    """The gradients of the values `asked` for, where the inputs that are `wanted` need
    some; zeros where nothing leads to one. What is returned is added to `drawn` if it is
    by chance. Where none are `given` of what it returns, these are random.
    """
    values: dict[str, Any] = {}
    leaves: dict[str, torch.Tensor] = {}
    room = getattr(inputs, "room", None)
    forms: dict[str, torch.Tensor] = {}
    found = Values(room=room)

    def keep(name: str, gradient: Any) -> None:
        found[name] = gradient

    def ran(name: str, value: Any) -> None:
        if name in asked and isinstance(value, torch.Tensor) and value.requires_grad:
            forms[name] = _zeros(value)
            hooked: Any = value
            hooked.register_hook(functools.partial(keep, name))

    with alone(), any_torch.enable_grad(), _saving(graph, room):
        any_torch.manual_seed(0)
        start = randomness()
        for name in graph.inputs:
            value = formed(inputs[name], mode, graph.order[name])
            if name in wanted:
                leaves[name] = value.requires_grad_()
                value = value.clone()  # a leaf may not be changed in place
            values[name] = value
        compute(graph, values, mode, ran, map(str, graph.outputs))
        if drawn is not None and not any_torch.equal(start, randomness()):
            drawn.append([values.get(str(name)) for name in graph.outputs])
        returned, ends_with = _given_gradients(graph, values, given, mode)
        values.clear()
        forms |= {name: _zeros(leaves[name]) for name in asked if name in leaves}
        with rounding(mode):
            ends = attempt(
                lambda: (
                    any_torch.autograd.grad(
                        *(returned, [*leaves.values()], ends_with), allow_unused=True
                    )
                    if returned
                    else [None] * len(leaves)
                )
            )
    if isinstance(ends, Raised):
        raise NotRun(f"its gradients cannot be computed: {raised_by(ends.error)}")
    for name, gradient in zip(leaves, ends, strict=True):
        if name in asked and gradient is not None:
            found[name] = gradient
    for name in forms.keys() - found.keys():
        found[name] = forms[name]
    return found


def _given_gradients(
    graph: ReplayedGraph, values: Mapping[str, Any], given: Gradients | None, mode: Mode
) -> tuple[list[Any], list[Any]]:
    """What a graph returns that needs gradients, and for each the one that is given, or a
    random one where none are.
    """
    returned: list[Any] = []
    gradients: list[Any] = []
    for at, name in enumerate(graph.outputs):
        value = values.get(str(name))
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            continue
        if given is None:
            generator = any_torch.Generator().manual_seed(at)
            gradient = any_torch.randn(value.shape, generator=generator)
        elif at in given:
            gradient = formed(given[at], mode, at)
        else:
            continue
        returned.append(value)
        gradients.append(gradient.to(value.dtype).to(value.device))
    return returned, gradients


def _zeros(value: torch.Tensor) -> torch.Tensor:
    """Zeros of the form of a value, in next to no memory."""
    zero = torch.zeros((), dtype=value.dtype, device=value.device)
    return zero.expand(value.shape)


@contextmanager
def _saving(graph: ReplayedGraph, room: Room | None) -> Generator[None]:
    """Let autograd save values in a room where they may not fit into memory.

    It then does not see that one is changed in place; so what is saved is a copy.
    """
    if room is None or _TIMES * graph.bytes_of_values() <= room.most_bytes:
        yield
        return

    def save(value: torch.Tensor) -> Any:
        return room.hold(copy_of(value))

    with any_torch.autograd.graph.saved_tensors_hooks(save, value_of):
        yield


def _is_drawn_alike(drawn: Sequence[_Returned]) -> bool:
    """Whether both graphs drew, and returned the same because of it."""
    if len(drawn) != 2:
        return False
    return all(
        not isinstance(one, torch.Tensor)
        or (one.shape == other.shape and any_torch.allclose(one, other, equal_nan=True))
        for one, other in zip(*drawn, strict=True)
    )
