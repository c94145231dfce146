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

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    doubled,
    leaves,
)
from fxls.runtime.numbers.judging.choices import choice_of, is_as_good
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.judging.precision import (
    STRICT,
    Judged,
    Roundings,
    Verdict,
    judged,
)
from fxls.runtime.numbers.judging.whole_numbers import (
    is_number,
    is_rounded,
    judged_number,
)
from fxls.runtime.numbers.random_nodes import (
    RANDOM,
    draws_alone,
    is_random,
    is_seed,
    seeds_of,
)
from fxls.runtime.numbers.replaying import (
    ChangesInPlace,
    Mode,
    Replay,
    Segments,
    replayed,
)
from fxls.runtime.numbers.room import Values, value_of
from fxls.runtime.passes.graph_state import Row, is_same
from fxls.verdicts.comparison import Evidence

__all__ = [
    "ABSENT",
    "Changed",
    "Claims",
    "Suspicion",
    "changed",
    "judge_outputs",
]

any_torch: Any = torch


ABSENT: Any = object()
"""What stands for an output that is one of the other half's."""
_OTHER_WAY = "it draws random numbers in another way"


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
class Drawn:
    """The values of nodes that drew random numbers, in the graph behind."""

    values: Values = field(default_factory=Values)
    """By the node of the graph before."""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """By the same, the node of the graph behind."""
    states: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the generator was at, for those that read other values and can draw again."""

    def alone(self) -> Values:
        """The values of those that depend on no other ones."""
        return self.values.without(*self.states)


@dataclass(slots=True)
class Claims:
    """Judges values one after the other."""

    segments: Segments
    roundings: Roundings = STRICT
    judged: int = 0
    values: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    """How far those that could be judged are off, by the node of the graph behind."""
    wrong: list[Suspicion] = field(default_factory=list[Suspicion])
    open: dict[str, str] = field(default_factory=dict[str, str])
    """The values of which nobody can say anything, and why."""
    moved: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    """Those that are on another device than in the graph before, where they were there."""
    drawn: Drawn = field(default_factory=lambda: Drawn())
    """The values behind random numbers that the graph before cannot draw again."""

    def take(
        self,
        name: str,
        actual: Any,
        new_name: str = "",
        *,
        is_output: bool = False,
        is_of_dtype: bool = True,
    ) -> bool:
        """Judge the value that somebody has for a node; whether it could be its value.

        Of an output, another shape is wrong; another value may have the name of a node. With
        `is_of_dtype` a value of another dtype is such a one.
        """
        if is_seed(self.segments.graph, name):
            return True
        try:
            region = self.segments.region([name])
            own = self.segments.value(name, Mode.OWN)
        except NotRun as why:
            self.open[name] = str(why)
            if str(why) == RANDOM:
                self.drawn.values[name] = actual
            return True
        pairs = [*zip(leaves(actual), leaves(own), strict=False)]
        seeds = seeds_of(self.segments.graph.by_name[name]) if len(pairs) > 1 else ()
        is_alike = len(leaves(actual)) == len(leaves(own)) and all(
            _is_alike(*pair, is_output=is_output, is_of_dtype=is_of_dtype)
            for pair in pairs
        )
        if not is_alike:
            return False
        self.judged += 1
        if isinstance(actual, torch.Tensor) and actual.device != own.device:
            self.moved[name] = actual.to(own.device)
        for at, (got, known) in enumerate(pairs):
            if at in seeds:
                continue
            found = self._judged_leaf(name, at, got, known, region)
            if found.verdict is Verdict.WRONG and _is_index(got):
                choice = choice_of(self.segments.graph, name, at)
                if choice is not None and is_as_good(self.segments, choice, got):
                    continue
            self.note(name, found, region, actual, new_name or name)
            if found.verdict == Verdict.WRONG:
                break
        return True

    def _judged_leaf(
        self, name: str, at: int, got: Any, known: Any, region: Sequence[Row]
    ) -> Judged:
        """Judge one of the values that a node gives."""
        if is_number(got) and is_number(known):
            return judged_number(got, known)
        if not isinstance(got, torch.Tensor) or not isinstance(known, torch.Tensor):
            return Judged(Verdict.RIGHT)
        return judged(
            got,
            known,
            lambda: self._leaf(name, Mode.MOVED, at),
            lambda: self._leaf(name, Mode.EXACT, at),
            self.roundings,
            lambda: self._attempted(name, Mode.OTHERWISE, at),
            lambda: is_rounded(self.segments.graph, region),
        )

    def note(
        self,
        name: str,
        found: Judged,
        region: Sequence[Row],
        actual: Any,
        new_name: str,
    ) -> None:
        """Note what is to be said of a value that these nodes compute."""
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

    def _attempted(self, name: str, mode: Mode, at: int) -> torch.Tensor | None:
        """A value that nobody misses where it cannot be computed."""
        found = attempt(lambda: leaves(self.segments.value(name, mode)))
        leaf = None if isinstance(found, Raised) or at >= len(found) else found[at]
        return leaf if isinstance(leaf, torch.Tensor) else None

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
    """What the new graph returned, as a room holds it, and behind that what is in each
    input that the graph before overwrites."""
    is_saving: bool = False
    """Whether it returns more: what the other half of it is given."""


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
    if before.in_place:
        raise ChangesInPlace(before.in_place)
    if after.returned_too_late and not (is_half or before.returned_too_late):
        raise ChangesInPlace(after.returned_too_late)
    run = replayed(after, inputs)
    random = {row.name for row in before.rows if is_random(row)}
    if before.is_captured:
        random |= replayed(
            before, inputs, ()
        ).random  # functions of Python do not say it
    known = Values(room=run.values.room)
    known.take(inputs, [name for name in before.inputs if name in inputs])
    # A half of a joint graph is given what the other half computed.
    its_own = [name for name in after.inputs if name in inputs]
    known.take(inputs, [name for name in its_own if name in before.by_name])
    drawn = _drawn(before, after, run, random)
    claims = Claims(Segments(before, known | drawn.values), drawn=drawn)
    claims.open |= {
        name: why for name, why in run.unknown.items() if name not in before.by_name
    }
    _judge_nodes(claims, after, run)
    names = [str(one) if isinstance(one, NodeName) else "" for one in after.outputs]
    if is_half:
        halved = [
            run.values.held(str(one)) if one in after.outputs else ABSENT
            for one in before.outputs
        ]
        halved = [ABSENT if one is None else one for one in halved]
        outputs = (*halved, *[ABSENT] * len(before.written))
        is_saving = any(one not in before.outputs for one in after.outputs)
        return Changed(claims, run, outputs, is_saving)
    outputs = [run.values.held(one) for one in names]
    for written in before.written:
        name = after.written.get(written)
        names.append(written if name is None else name)
        outputs.append(inputs.get(written) if name is None else run.values.held(name))
    # Some operators of inductor have their dtype in its code alone.
    of_code = ("prims.inductor_", "prims._low_memory")
    rows = (*before.rows, *after.rows)
    has_dtypes = not any(str(row.target).startswith(of_code) for row in rows)
    judge_outputs(claims, outputs, names, has_dtypes=has_dtypes)
    return Changed(claims, run, tuple(outputs))


def _judge_nodes(claims: Claims, after: ReplayedGraph, run: Replay) -> None:
    """Judge the nodes that have the names of some of the graph before."""
    before, known = claims.segments.graph, claims.segments.known
    drawers = {new: name for name, new in claims.drawn.names.items()}
    for row in after.rows:
        if row.name in drawers:
            _judge_drawn(claims, drawers[row.name], row, run)
        old = before.by_name.get(row.name)
        if old is None or row.name not in run.values or row.name in known:
            continue
        value = run.values[row.name]
        is_unchanged = is_same(old, row) and all(
            used in known for used in before.uses(old)
        )
        if isinstance(value, torch.nn.Module) and not is_unchanged:
            continue  # what it computes is judged where it is called
        if is_unchanged or claims.take(row.name, value):
            known[row.name] = claims.moved.pop(row.name, value)


def _judge_drawn(claims: Claims, name: str, new: Row, run: Replay) -> None:
    """Judge a node that draws random numbers and is another one than before."""
    graph, drawn = claims.segments.graph, claims.drawn
    old = graph.by_name[name]
    if is_same(old, new) or new.name != name:
        return
    known = {
        one: claims.segments.known[one]
        for one in graph.uses(old)
        if one in claims.segments.known
    }
    is_other = new.target is not old.target
    if new.name not in run.states:
        claims.open[name] = _OTHER_WAY
        return
    states = {name: run.states[new.name]}
    again = attempt(lambda: Segments(graph, known, states).value(name, Mode.OWN))
    pairs = [*zip(leaves(drawn.values[name]), leaves(again), strict=False)]
    for got, own in pairs:
        if isinstance(got, torch.Tensor) and isinstance(own, torch.Tensor):
            found = judged(got, own, lambda: None, lambda own=own: doubled(own))
            if is_other and found.verdict is not Verdict.RIGHT:
                claims.open[name] = _OTHER_WAY
                return
            claims.note(name, found, [old], drawn.values[name], new.name)


def judge_outputs(
    claims: Claims,
    outputs: Sequence[Any],
    names: Sequence[str] = (),
    *,
    has_dtypes: bool = False,
) -> None:
    """Judge what a graph returns and overwrites, as a room holds it, whose nodes may have
    other names than before; with `has_dtypes` another dtype is wrong.
    """
    before = claims.segments.graph
    if len(outputs) != len(before.results):
        return
    for at, (old, held) in enumerate(zip(before.results, outputs, strict=True)):
        row = before.by_name.get(str(old)) if isinstance(old, NodeName) else None
        if row is None or row.opcode == "placeholder":
            continue
        if row.name in before.overwritten:
            claims.open[row.name] = "it is returned, and overwritten before that"
            continue
        name, known = row.name, claims.segments.known
        kept, actual = known.get(name), value_of(held)
        if not isinstance(actual, torch.Tensor) or _is_equal(kept, actual):
            continue
        known.pop(name, None)
        new_name = names[at] if names else ""
        claims.take(name, actual, new_name, is_output=True, is_of_dtype=not has_dtypes)
        if name not in before.writes.changing:
            known[name] = actual if kept is None else kept


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.int64


def _is_worse(one: Evidence, other: Evidence) -> bool:
    """Whether a value is further off than another, as precision explains each."""
    return one.error * other.allowed > other.error * one.allowed or not other.error


def _is_equal(one: Any, other: torch.Tensor) -> bool:
    return one is other or (
        isinstance(one, torch.Tensor)
        and _is_alike(one, other)
        and has_numbers_of(one, other.to(one.device))
    )


def _drawn(
    before: ReplayedGraph, after: ReplayedGraph, run: Replay, random: set[str]
) -> Drawn:
    """What the new graph drew for each node of the old one that draws random numbers.

    They may draw in another way; the first of one is the first of the other, where they
    draw as many values of the same shapes.
    """
    old = [row.name for row in before.rows if row.name in random and _is_drawn(row)]
    new = [
        row.name
        for row in after.rows
        if row.name in run.random and row.name in run.values and _is_drawn(row)
    ]
    same = {name: name for name in old if name in new}
    if len(same) == len(old):
        return _values_drawn(before, after, run, same)
    pairs = [*zip(old, new, strict=False)]
    shapes = [
        (_shape(before.by_name[one]), tuple(getattr(run.values[other], "shape", ())))
        for one, other in pairs
    ]
    if len(old) != len(new) or any(one != other for one, other in shapes):
        return _values_drawn(before, after, run, same)
    return _values_drawn(before, after, run, dict(pairs))


def _values_drawn(
    before: ReplayedGraph, after: ReplayedGraph, run: Replay, pairs: Mapping[str, str]
) -> Drawn:
    """The values that nodes drew, by the nodes of the graph before."""
    held = {one: run.values.held(other) for one, other in pairs.items()}
    values = Values.of_held(held, run.values.room)
    states = {
        one: run.states[other]
        for one, other in pairs.items()
        if before.by_name[one].target is after.by_name[other].target
        and other in run.states
        and not draws_alone(before.by_name[one])
    }
    return Drawn(values, dict(pairs), states)


def _is_drawn(row: Row) -> bool:
    """Whether a node has the numbers, and not the seeds of them."""
    return "seed" not in str(row.target)


def _shape(row: Row) -> tuple[Any, ...]:
    return tuple(getattr(row.node.meta.get("val"), "shape", ()))


def _is_alike(
    one: Any, other: Any, *, is_output: bool = False, is_of_dtype: bool = True
) -> bool:
    """Whether a value may be that of a node, by its form."""
    if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor):
        return False
    if not isinstance(one, torch.Tensor):
        return True
    is_alike = not is_of_dtype or one.dtype == other.dtype
    return is_alike and (is_output or one.shape == other.shape)
