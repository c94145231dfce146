"""Where a graph, or what was compiled of it, does not compute what the graph before does.

A value of the new one is judged by the old graph, from the values that the new one had.
What is judged is known from then on, right or wrong: so an error is the fault of the
place that made it, and of no other that it was passed on to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.precision import STRICT, Judged, Verdict, judged
from fxls.runtime.numbers.replaying import (
    RANDOM,
    Mode,
    Replay,
    Segments,
    is_random,
    replayed,
)
from fxls.runtime.passes.graph_state import Row, is_same
from fxls.verdicts.comparison import Evidence

__all__ = ["Changed", "Claims", "Suspicion", "changed", "judge_outputs"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A value that is wrong as seen from the values that it was made of."""

    name: str
    """Of the node in the graph before, or of the output that it is."""
    evidence: Evidence
    region: tuple[Row, ...]
    """The nodes of the graph before that compute it, from values that are known."""
    actual: Any
    new_name: str
    """Of the node in the graph behind, which is another one for some outputs."""


@dataclass(slots=True)
class Claims:
    """Judges values one after the other."""

    segments: Segments
    roundings: tuple[float, float] = STRICT
    judged: int = 0
    values: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    """How far those that could be judged are off, by the node of the graph behind."""
    wrong: list[Suspicion] = field(default_factory=list[Suspicion])
    open: dict[str, str] = field(default_factory=dict[str, str])
    """The values of which nobody can say anything, and why."""
    drawn: dict[str, Any] = field(default_factory=dict[str, Any])
    """The values behind random numbers that the graph before cannot draw again."""

    def take(self, name: str, actual: Any, new_name: str = "") -> bool:
        """Judge the value that somebody has for a node; whether it could be its value."""
        try:
            region = self.segments.region([name])
            own = self.segments.value(name, Mode.OWN)
        except NotRun as why:
            self.open[name] = str(why)
            if str(why) == RANDOM:
                self.drawn[name] = actual
            return True
        pairs = [*zip(leaves(actual), leaves(own), strict=False)]
        if len(leaves(actual)) != len(leaves(own)) or not all(
            _is_alike(*pair) for pair in pairs
        ):
            return False
        self.judged += 1
        for at, (got, known) in enumerate(pairs):
            if not isinstance(got, torch.Tensor):
                continue
            found = judged(
                got,
                known,
                lambda at=at: self._leaf(name, Mode.MOVED, at),
                lambda at=at: self._leaf(name, Mode.EXACT, at),
                self.roundings,
            )
            self._note(name, found, region, actual, new_name or name)
            if found.verdict == Verdict.WRONG:
                break
        return True

    def _note(
        self,
        name: str,
        found: Judged,
        region: Sequence[Row],
        actual: Any,
        new_name: str,
    ) -> None:
        if found.verdict == Verdict.WRONG and found.evidence is not None:
            self.wrong.append(
                Suspicion(name, found.evidence, tuple(region), actual, new_name)
            )
        elif found.verdict == Verdict.OPEN:
            self.open.setdefault(name, "float64 and its own precision do not tell")
        if name in self.open:
            self.values.pop(new_name, None)
        elif found.evidence is not None:
            before = self.values.get(new_name)
            if before is None or _is_worse(found.evidence, before):
                self.values[new_name] = found.evidence

    def _leaf(self, name: str, mode: Mode, at: int) -> torch.Tensor | None:
        try:
            found = leaves(self.segments.value(name, mode))
        except NotRun as why:
            self.open[name] = str(why)
            return None
        leaf = found[at] if at < len(found) else None
        return leaf if isinstance(leaf, torch.Tensor) else None


@dataclass(frozen=True, slots=True)
class Changed:
    """What is to be said of a graph that somebody made of another one."""

    claims: Claims
    after: Replay
    outputs: tuple[Any, ...]
    """What the new graph returned."""


def changed(
    before: ReplayedGraph,
    after: ReplayedGraph,
    inputs: Mapping[str, Any],
    *,
    is_half: bool = False,
) -> Changed:
    """Judge a graph by the one that it was made of, on these inputs.

    A half of it returns other values, of which some have the names that they had.

    Raises `NotRun` where the graphs cannot be run node by node.
    """
    run = replayed(after, inputs)
    known = {name: inputs[name] for name in before.inputs if name in inputs}
    # A half of a joint graph is given what the other half computed.
    known |= {
        name: inputs[name]
        for name in after.inputs
        if name in inputs and name in before.by_name
    }
    drawn = _drawn(before, after, run)
    claims = Claims(Segments(before, known | drawn), drawn=drawn)
    for row in after.rows:
        old = before.by_name.get(row.name)
        if old is None or row.name not in run.values or row.name in known:
            continue
        value, segments = run.values[row.name], claims.segments
        is_unchanged = is_same(old, row) and all(
            used in segments.known for used in before.uses(old)
        )
        if is_unchanged or claims.take(row.name, value):
            segments.known[row.name] = value
    names = [str(one) if isinstance(one, NodeName) else "" for one in after.outputs]
    outputs = [run.values.get(one) for one in names]
    if is_half:
        return Changed(claims, run, ())
    judge_outputs(claims, outputs, names)
    return Changed(claims, run, tuple(outputs))


def judge_outputs(
    claims: Claims, outputs: Sequence[Any], names: Sequence[str] = ()
) -> None:
    """Judge what a graph returns, whose nodes may have other names than before."""
    before = claims.segments.graph
    if len(outputs) != len(before.outputs):
        return
    for at, (old, actual) in enumerate(zip(before.outputs, outputs, strict=True)):
        row = before.by_name.get(str(old)) if isinstance(old, NodeName) else None
        if row is None or row.opcode == "placeholder":
            continue
        name, known = row.name, claims.segments.known
        kept = known.get(name)
        if not isinstance(actual, torch.Tensor) or _is_equal(kept, actual):
            continue
        known.pop(name, None)
        claims.take(name, actual, names[at] if names else "")
        known[name] = actual if kept is None else kept


def _is_worse(one: Evidence, other: Evidence) -> bool:
    """Whether a value is further off than another, as precision explains each."""
    return one.error * other.allowed > other.error * one.allowed or not other.error


def _is_equal(one: Any, other: torch.Tensor) -> bool:
    return one is other or (
        isinstance(one, torch.Tensor)
        and _is_alike(one, other)
        and any_torch.equal(one.nan_to_num(), other.nan_to_num())
    )


def _drawn(before: ReplayedGraph, after: ReplayedGraph, run: Replay) -> dict[str, Any]:
    """What the new graph drew for each node of the old one that draws random numbers.

    They may draw in another way; the first of one is the first of the other, where they
    draw as many values of the same shapes.
    """
    old = [row.name for row in before.rows if is_random(row) and _is_drawn(row)]
    new = [
        row.name
        for row in after.rows
        if row.name in run.random and row.name in run.values and _is_drawn(row)
    ]
    same = {name: run.values[name] for name in old if name in new}
    if len(same) == len(old):
        return same
    pairs = [*zip(old, new, strict=False)]
    shapes = [
        (_shape(before.by_name[one]), tuple(getattr(run.values[other], "shape", ())))
        for one, other in pairs
    ]
    if len(old) != len(new) or any(one != other for one, other in shapes):
        return same
    return {one: run.values[other] for one, other in pairs}


def _is_drawn(row: Row) -> bool:
    """Whether a node has the numbers, and not the seeds of them."""
    return "seed" not in str(row.target)


def _shape(row: Row) -> tuple[Any, ...]:
    return tuple(getattr(row.node.meta.get("val"), "shape", ()))


def _is_alike(one: Any, other: Any) -> bool:
    """Whether a value may be that of a node, by its form."""
    if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor):
        return False
    if not isinstance(one, torch.Tensor):
        return True
    return one.shape == other.shape and one.dtype == other.dtype
