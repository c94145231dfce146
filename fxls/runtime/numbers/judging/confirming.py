"""Whether what a graph returns is otherwise because of values that are wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph, widened
from fxls.runtime.numbers.judging.claims import ABSENT, Claims, Suspicion
from fxls.runtime.numbers.judging.elements import is_short, plain, share_of_others
from fxls.runtime.numbers.judging.magnitudes import PART, small_parts
from fxls.runtime.numbers.judging.precision import (
    OF_CODE,
    SHARE,
)
from fxls.runtime.numbers.random_nodes import is_seed
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.runtime.numbers.room import Values, value_of

__all__ = ["confirmed", "is_explained"]

any_torch: Any = torch


class _Changed(Protocol):
    @property
    def claims(self) -> Claims: ...
    @property
    def outputs(self) -> tuple[Any, ...]: ...
    @property
    def is_saving(self) -> bool: ...


_EXPLAINED = 0.1
"""What is left of the change of an output, once the wrong values are put in, when they
are what changed it."""
_MOST_RUNS = 64
"""So often the graph is run to find which of several wrong values matter."""


def confirmed(
    before: ReplayedGraph, inputs: Mapping[str, Any], changed: _Changed
) -> tuple[Suspicion, str | None, Collection[str]]:
    """The first wrong value that matters, how that is known, and the nodes of what is
    returned that are otherwise.

    The graph before is run as it is, and with wrong values put in; each time with the
    random numbers that were drawn. Of several, the fewest are looked for that make the
    outputs what they are: another value that a pass gave an old name to is none of them.
    The text is empty where what it returns is the same anyhow, and None where nobody can
    know.
    """
    wrong = changed.claims.wrong
    trial = _Trial(before, inputs, changed)
    if not trial.is_whole and not trial.seen:
        return wrong[0], None, ()
    if not trial.seen:
        return wrong[0], "", ()
    some = _fewest(trial, wrong)
    explained = trial.explained(some)
    if not explained:
        return wrong[0], None, ()
    how = (
        "with the wrong value put in, the graph before returns the same wrong outputs "
        f"({explained} of {len(trial.seen)})"
    )
    return some[0], how, trial.seen.keys()


def is_explained(
    graph: ReplayedGraph, known: Mapping[str, Any], wrong: Suspicion, put_in: Suspicion
) -> bool:
    """Whether a value is wrong because the value of another node is: put in for that, it
    makes the value what it is.
    """
    given = Values(known).without(wrong.name)
    start = given | {put_in.name: put_in.actual}
    try:
        own = Segments(graph, given).value(wrong.name, Mode.OWN)
        made = Segments(graph, start).value(wrong.name, Mode.OWN)
    except NotRun:
        return False
    got = wrong.actual
    if not all(isinstance(one, torch.Tensor) for one in (own, made, got)):
        return False
    off = _distance(own, got)
    return _distance(made, got) <= max(_EXPLAINED * off, _negligible(made)) < off


class _Trial:
    """What a graph returned, beside what the graph before does with some values put in."""

    def __init__(
        self, before: ReplayedGraph, inputs: Mapping[str, Any], changed: _Changed
    ) -> None:
        drawn = changed.claims.drawn
        self._start = Values(inputs) | drawn.alone()
        self._states = drawn.states
        self._graph = before
        results = before.results
        self.is_whole = len(changed.outputs) == len(results)
        """Whether each thing that it returned could be compared."""
        self.seen: dict[str, tuple[Any, float, float]] = {}
        """What it returned that is otherwise, as a room holds it, how far off it is, and
        up to which size its numbers are looked at."""
        self._runs = 0
        pairs = [
            (str(one), got)
            for one, got in zip(results, changed.outputs, strict=False)
            if isinstance(one, NodeName) and not is_seed(before, one)
        ]
        usual = self._returned([name for name, _ in pairs], {})
        wrong = {one.name for one in changed.claims.wrong}
        for name, held in pairs if self.is_whole else ():
            if held is ABSENT:
                continue
            got = value_of(held)
            expected = usual.get(name)
            if not isinstance(got, torch.Tensor) or expected is None:
                self.is_whole = False
                continue
            is_other = got.dtype != expected.dtype and name in wrong
            for up_to in _sizes(got):
                off = float("inf") if is_other else _distance(expected, got, up_to)
                if off > _negligible(expected, up_to):
                    self.seen[name] = held, off, up_to
                    break
        # What a half saves for the other one is none of the outputs of both.
        self.is_whole = self.is_whole and not changed.is_saving

    def explained(self, wrong: Sequence[Suspicion]) -> int:
        """How many of the outputs that are otherwise these values make what they are."""
        if self._runs >= _MOST_RUNS:
            return 0
        self._runs += 1
        found = self._returned([*self.seen], {one.name: one.actual for one in wrong})
        return sum(
            _distance(made, value_of(held), up_to)
            <= max(_EXPLAINED * off, _negligible(made, up_to))
            for name, (held, off, up_to) in self.seen.items()
            if (made := found.get(name)) is not None
        )

    def _returned(self, names: Sequence[str], put_in: Mapping[str, Any]) -> Values:
        start = self._start | put_in
        states = {
            name: state for name, state in self._states.items() if name not in start
        }
        segments = Segments(self._graph, start, states)
        found = Values(room=start.room)
        try:
            found = segments.values(names, Mode.OWN, is_all=False)
        except NotRun:
            for name in names:
                try:
                    found[name] = segments.value(name, Mode.OWN)
                except NotRun:
                    continue
        return found.without(
            *(name for name in found if not isinstance(found[name], torch.Tensor))
        )


def _fewest(trial: _Trial, wrong: Sequence[Suspicion]) -> Sequence[Suspicion]:
    """So few of these values that explain as much as any; in their order."""
    best, most = wrong, trial.explained(wrong)
    if len(wrong) == 1:
        return wrong
    for one in wrong:
        count = trial.explained([one])
        if count and count >= most:
            if count == len(trial.seen):
                return [one]
            best, most = (
                ([one], count) if count > most or best is wrong else (best, most)
            )
    if len(best) == 1:
        return best
    for one in wrong:
        fewer = [other for other in best if other is not one]
        count = trial.explained(fewer) if fewer else 0
        if count and count >= most:
            best, most = fewer, count
    return best


def _sizes(value: torch.Tensor) -> Iterator[float]:
    """Up to which sizes the numbers of a value are looked at: first all of them, and then
    small ones among themselves.
    """
    yield math.inf
    if not is_short(value.dtype) and (value.is_floating_point() or value.is_complex()):
        sizes = plain(value).double().abs()
        for small in small_parts(sizes, sizes.isfinite()):
            yield float(sizes[small].max())


def _distance(one: torch.Tensor, other: torch.Tensor, up_to: float = math.inf) -> float:
    """How far two values are off; with `up_to` where the other one is no larger."""
    if one.shape != other.shape:
        return float("inf")
    other = other.to(one.device)
    if is_short(one.dtype) and is_short(other.dtype):
        return share_of_others(one, other)
    one, other = widened(one), widened(other)
    if up_to < math.inf:
        off = (plain(one) - plain(other)).abs()[plain(other).abs() <= up_to]
        return float(off.nan_to_num(nan=math.inf).max()) if off.numel() else 0.0
    both = one.isfinite() & other.isfinite()
    if any_torch.equal(one.isfinite(), other.isfinite()):
        off = (one - other).abs()[both]
        return float(off.max()) if off.numel() else 0.0
    return float("inf")


def _negligible(value: torch.Tensor, up_to: float = math.inf) -> float:
    """How far off an output, or its numbers `up_to` a size, may be and still be the same."""
    if is_short(value.dtype):
        return SHARE
    numbers = plain(value)
    if not numbers.is_floating_point() or not numbers.numel():
        return 0.0
    part = OF_CODE.of_worst(value.dtype.to_real())
    if up_to < math.inf:
        return max(part, PART) * up_to
    finite = numbers[numbers.isfinite()].double().abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    return part * scale
