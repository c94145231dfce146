"""What a compiled function returned, judged by the captured graph as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    doubled,
    draw_from,
    randomness,
)
from fxls.runtime.numbers.judging.choices import choice_of
from fxls.runtime.numbers.judging.precision import OF_CODE, Verdict, judged
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed_all
from fxls.runtime.numbers.room import Values, value_of
from fxls.verdicts.comparison import Evidence

__all__ = ["SHARED", "WrongOutput", "wrong_output"]

any_torch: Any = torch

SHARED = "two of its inputs share memory, and it changes one of them"


@dataclass(frozen=True, slots=True)
class WrongOutput:
    """Something that a function returned and that its graph does not return."""

    name: str
    """The node of the captured graph."""
    evidence: Evidence
    is_left: bool = False
    """Whether it is what is in an input behind the call."""


def wrong_output(graph: ReplayedGraph, call: KeptCall) -> WrongOutput | None:
    """The first wrong thing that a call returned, or left in its inputs; raises `NotRun`.

    The graph is run from its first node to its last, so it may change values in place.
    """
    assert call.outputs is not None, "its caller asks"
    _check_autocast(graph)
    runs: dict[Mode, Mapping[str, Any]] = {}
    random: set[Mode] = set()
    unsure: list[str] = []

    def value(name: str, mode: Mode) -> Any:
        if mode is not Mode.OWN and random:  # in float64 it may draw other numbers
            return doubled(runs[Mode.OWN][name]) if mode is Mode.EXACT else None
        if mode not in runs:
            try:
                runs[mode], is_random = _returned(graph, call, mode)
                if mode is Mode.OWN and call.shares_memory:
                    _check_inputs(runs[mode], call)
                random.update([mode] * is_random)
            except NotRun:
                if mode is Mode.OWN:
                    raise
                runs[mode] = {}
        return runs[mode].get(name)

    for one, held, is_left in _given_by(graph, call):
        own, actual = value(one, Mode.OWN), value_of(held)
        if not isinstance(own, torch.Tensor):
            continue
        found = judged(
            actual,
            own,
            lambda one=one: value(one, Mode.MOVED),
            lambda one=one: value(one, Mode.EXACT),
            OF_CODE,
            lambda one=one: value(one, Mode.OTHERWISE),
        )
        if found.verdict is not Verdict.RIGHT and random:
            raise NotRun("it draws random numbers")  # and may draw them in another way
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            return WrongOutput(str(one), found.evidence, is_left)
        if found.verdict is Verdict.OPEN:
            unsure.append(str(one))
    _check_sure(unsure)
    return None


def _check_autocast(graph: ReplayedGraph) -> None:
    """Raise `NotRun` where nodes do not say what is cast."""
    if any("_autocast" in getattr(row.target, "__name__", "") for row in graph.rows):
        raise NotRun("it switches autocast")


def _check_sure(unsure: Sequence[str]) -> None:
    """Raise `NotRun` where of something that was returned nobody can say that it is right."""
    if unsure:
        raise NotRun(f"float64 and its own precision do not tell of {unsure[0]}")


def _given_by(graph: ReplayedGraph, call: KeptCall) -> Sequence[tuple[str, Any, bool]]:
    """The tensors that a call returned, by node, and those that it left in its inputs, as
    a room holds them; without indices, which the steps judge by what they point to.
    """
    returned = zip(graph.outputs, call.outputs or (), strict=False)
    pairs = [
        (one, got, False)
        for one, got in returned
        if isinstance(one, NodeName) and choice_of(graph, one) is None
    ]
    if call.left is None:
        return pairs
    behind = call.values | call.left
    return [
        *pairs,
        *((one, behind.held(one), True) for one in graph.inputs if one in behind),
    ]


def _check_inputs(run: Mapping[str, Any], call: KeptCall) -> None:
    """Raise `NotRun` where one of several inputs that share memory is changed."""
    for name, before in call.values.items():
        behind = run.get(name)
        if isinstance(behind, torch.Tensor) and not torch.equal(before, behind):
            raise NotRun(SHARED)


def _returned(
    graph: ReplayedGraph, call: KeptCall, mode: Mode
) -> tuple[Mapping[str, Any], bool]:
    """What a graph returns, and leaves in its inputs, with the random numbers of a call,
    and whether it draws any.
    """
    with alone():
        if call.randomness is not None:
            draw_from(call.randomness)
        before = randomness()
        values = formed_all(graph.inputs, call.values, mode, graph.order)
        wanted = (*map(str, graph.outputs), *graph.inputs)
        compute(graph, values, mode, wanted=wanted)
        is_random = not any_torch.equal(before, randomness())
    found = Values(room=values.room)
    found.take(values, [one for one in wanted if one in values])
    if mode is Mode.OWN and call.shares_memory:
        _check_inputs(found, call)
    return found, is_random
