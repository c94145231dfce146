"""Values that are random in a graph, and are not in the graph that was made of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import ReplayedGraph, leaves, widened
from fxls.runtime.numbers.judging.claims import Claims, Suspicion
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.random_nodes import RANDOM, is_random
from fxls.runtime.numbers.replaying import Mode, Segments, alone, compute, formed_all
from fxls.runtime.passes.graph_state import Row, is_same
from fxls.verdicts.comparison import Evidence

__all__ = ["HOW", "is_drawn_otherwise", "no_longer_random"]

any_torch: Any = torch

_DRAWS = 8
"""So often both graphs draw: that a mask of few elements is once as it was is chance."""
_FIXED = 1e-4
"""A value that draws move by so small a part of what they moved it before is fixed: what
was added and taken away again leaves its roundings."""
HOW = (
    f"of {_DRAWS} times with other random numbers, the graph before gives another value"
    " each time, and this one the same"
)


def no_longer_random(
    before: ReplayedGraph,
    after: ReplayedGraph,
    inputs: Mapping[str, Any],
    claims: Claims,
) -> Suspicion | None:
    """The first value that matters, is another one with each draw in the graph before,
    and the same with each in the graph behind.
    """
    names = [
        name
        for name, why in claims.open.items()
        if why == RANDOM and name in after.by_name and _is_read(after, name)
    ]
    if not names:
        return None
    both: list[Sequence[Mapping[str, Any]]] = []
    for graph in (before, after):
        drawn = attempt(lambda graph=graph: _drawn(graph, inputs, names))
        if isinstance(drawn, Raised):
            return None
        both.append(drawn)
    for name in sorted(names, key=after.order.__getitem__):
        old, new = ([draw[name] for draw in draws] for draws in both)
        if _never_alike(old) and _spread(new) <= _FIXED * _spread(old):
            value = next(
                (one for one in leaves(new[0]) if isinstance(one, torch.Tensor)), None
            )
            form = (
                ("", ())
                if value is None
                else (str(value.dtype).removeprefix("torch."), tuple(value.shape))
            )
            reason = "it is random before, and here it is not"
            evidence = Evidence(*form, float("inf"), 0.0, 0.0, 0.0, reason)
            region = tuple(_region(before, claims, name))
            return Suspicion(name, evidence, region, new[0], name)
    return None


def is_drawn_otherwise(
    before: ReplayedGraph, after: ReplayedGraph, claims: Claims
) -> bool:
    """Whether a value of which nobody can say anything, as it is random, is computed by
    nodes that are others than before.
    """
    for name, why in claims.open.items():
        if why != RANDOM:
            continue
        for row in _region(before, claims, name):
            new = after.by_name.get(row.name)
            if new is None or not is_same(row, new):
                return True
    return False


def _region(graph: ReplayedGraph, claims: Claims, name: str) -> Iterable[Row]:
    """The nodes that compute a random value from what is known."""
    random = [row.name for row in graph.rows if is_random(row)]
    segments = Segments(
        graph, claims.segments.known.without(name), dict.fromkeys(random)
    )
    found = attempt(lambda: segments.region([name]))
    return [graph.by_name[name]] if isinstance(found, Raised) else found


def _drawn(
    graph: ReplayedGraph, inputs: Mapping[str, Any], names: Sequence[str]
) -> list[Mapping[str, Any]]:
    """The values of these nodes, each time with other random numbers."""
    draws: list[Mapping[str, Any]] = []
    for seed in range(_DRAWS):
        with alone():
            any_torch.manual_seed(seed)
            values = formed_all(graph.inputs, inputs, Mode.OWN)
            compute(graph, values, Mode.OWN, wanted=names)
        draws.append(values)
    return draws


def _never_alike(values: Sequence[Any]) -> bool:
    """Whether no value is the one before it."""
    return not any(_is_same(one, other) for one, other in itertools.pairwise(values))


def _is_same(one: Any, other: Any) -> bool:
    pairs = [*zip(leaves(one), leaves(other), strict=False)]
    return all(
        has_numbers_of(a, b)
        for a, b in pairs
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    )


def _spread(values: Sequence[Any]) -> float:
    """How far values are from the first of them at most."""
    found = 0.0
    for one in values[1:]:
        for a, b in zip(leaves(values[0]), leaves(one), strict=False):
            if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
                off = (widened(b) - widened(a)).abs()
                if off.numel():
                    found = max(found, float(off.nan_to_num().max()))
    return found


def _is_read(graph: ReplayedGraph, name: str) -> bool:
    """Whether something that a graph returns, or overwrites, comes of a node."""
    reached = {name}
    for row in graph.rows:
        if reached.intersection(graph.uses(row)):
            reached.add(row.name)
    return not reached.isdisjoint(map(str, graph.results))
