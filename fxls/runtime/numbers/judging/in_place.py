"""Judges a graph that changes values in place by the one that it was made of.

A node has no value there that stays what it is, so both graphs are run from the first node
to the last, each with tensors of its own, and what they return and leave in their inputs
is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    doubled,
    randomness,
)
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed_all
from fxls.runtime.numbers.room import Values, value_of
from fxls.runtime.passes.graph_state import is_same
from fxls.runtime.torch_private import unwrapped
from fxls.verdicts.comparison import Evidence

__all__ = ["WrongInPlace", "changed_names", "wrong_in_place"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class WrongInPlace:
    """What a graph returns, or leaves in an input, and the graph before does not."""

    evidence: Evidence
    nodes: Sequence[tuple[ReplayedGraph, str]]
    """Those that were made, altered or removed, and that it may be computed of."""
    confirmed: str


@dataclass(slots=True)
class _Run:
    """A graph that was run from its first node to its last."""

    results: list[Any] = field(default_factory=list[Any])
    """What it returned, and behind that what it left in its inputs, as a room holds it."""
    seen: Values = field(default_factory=Values)
    """What each node gave at the moment when it ran, where that is asked for."""
    drawing: list[str] = field(default_factory=list[str])
    """The nodes that drew random numbers."""
    end: Any = None
    """What the generator was at behind the last node."""


def wrong_in_place(
    before: ReplayedGraph, after: ReplayedGraph, inputs: Mapping[str, Any]
) -> WrongInPlace | None:
    """The first wrong thing that a graph returns or leaves behind; raises `NotRun`."""
    names = list(dict.fromkeys((*before.inputs, *after.inputs)))
    missing = [name for name in names if name not in inputs]
    if missing:
        raise NotRun(f"nobody saw what is given for {', '.join(missing[:4])}")
    if len(before.outputs) != len(after.outputs):
        raise NotRun("it changes values in place, and returns more or fewer of them")
    given = Values(room=getattr(inputs, "room", None))
    given.take(inputs, names)
    old, new = (_run(graph, given, Mode.OWN) for graph in (before, after))
    if old.drawing != new.drawing or not any_torch.equal(old.end, new.end):
        raise NotRun("it changes values in place, and draws random numbers otherwise")
    others: dict[Mode, _Run] = {}

    def result(at: int, mode: Mode) -> torch.Tensor | None:
        if mode not in others:
            try:
                others[mode] = _run(before, given, mode)
            except NotRun:
                others[mode] = _Run()
        results = others[mode].results
        value = value_of(results[at]) if at < len(results) else None
        return value if isinstance(value, torch.Tensor) else None

    wrong: list[tuple[int, Evidence]] = []
    for at, both in enumerate(zip(old.results, new.results, strict=True)):
        own, actual = map(value_of, both)
        if not isinstance(own, torch.Tensor) or not isinstance(actual, torch.Tensor):
            continue
        found = judged(
            actual,
            own,
            lambda at=at: result(at, Mode.MOVED),
            lambda at=at: result(at, Mode.EXACT),
            LENIENT,
            lambda at=at: result(at, Mode.OTHERWISE),
        )
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            wrong.append((at, found.evidence))
    if not wrong:
        return None
    how = (
        "run from the first node to the last, the graph before returns or leaves"
        f" something else behind ({len(wrong)} of {len(old.results)})"
    )
    # The values of nodes are many, and wanted only now.
    old, new = (
        _run(graph, given, Mode.OWN, is_seeing=True) for graph in (before, after)
    )
    return WrongInPlace(wrong[0][1], _suspects(before, after, old, new), how)


def changed_names(
    before: ReplayedGraph, after: ReplayedGraph
) -> Sequence[tuple[ReplayedGraph, str]]:
    """The nodes that were made, or else altered, or else removed, or else moved."""
    return _replaced(before, after) or [(after, name) for name in _moved(before, after)]


def _replaced(
    before: ReplayedGraph, after: ReplayedGraph
) -> Sequence[tuple[ReplayedGraph, str]]:
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


def _moved(before: ReplayedGraph, after: ReplayedGraph) -> list[str]:
    """The nodes that read or write the same value, in another order than before."""
    users: dict[str, list[str]] = {}
    for row in after.rows:
        for used in after.uses(row):
            users.setdefault(used, []).append(row.name)
    order, moved = before.order, set[str]()
    for names in users.values():
        was = sorted(names, key=order.__getitem__)
        moved.update(name for name, old in zip(names, was, strict=True) if name != old)
    return [row.name for row in after.rows if row.name in moved]


def _suspects(
    before: ReplayedGraph, after: ReplayedGraph, old: _Run, new: _Run
) -> Sequence[tuple[ReplayedGraph, str]]:
    """The changed nodes at or in front of the first node that gave something else."""
    changed = _replaced(before, after)
    first = next(
        (
            row.name
            for row in after.rows
            if (one := old.seen.get(row.name)) is not None
            and (other := new.seen.get(row.name)) is not None
            and _is_other(other, one)
        ),
        None,
    )
    if first is None or not changed:
        return changed_names(before, after)
    return [
        (graph, name)
        for graph, name in changed
        if graph.order[name] <= graph.order.get(first, len(graph.rows))
    ] or changed


def _is_other(actual: torch.Tensor, own: torch.Tensor) -> bool:
    found = judged(actual, own, lambda: None, lambda: doubled(own), LENIENT)
    return found.verdict is not Verdict.RIGHT


def _run(
    graph: ReplayedGraph, inputs: Values, mode: Mode, *, is_seeing: bool = False
) -> _Run:
    done = _Run(seen=Values(room=inputs.room))
    with alone():
        any_torch.manual_seed(0)
        state = randomness()
        values = formed_all(inputs, inputs, mode, graph.order)

        def ran(name: str, value: Any) -> None:
            nonlocal state
            now = randomness()
            if not any_torch.equal(now, state):
                done.drawing.append(name)
                state = now
            if is_seeing and isinstance(value, torch.Tensor):
                # What is computed while a transform is entered may be in it again.
                done.seen[name] = unwrapped(copy_of(unwrapped(value)))

        compute(graph, values, mode, ran, (*map(str, graph.outputs), *inputs))
        done.end = state
    returned = [
        values.held(str(one)) if isinstance(one, NodeName) else None
        for one in graph.outputs
    ]
    done.results = [*returned, *(values.held(name) for name in inputs)]
    return done
