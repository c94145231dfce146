"""Which of the values of a line is which: those of a graph's nodes and those of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from fxls.runtime.numbers.as_python.python_values import Seen

__all__ = ["Aligned", "Given", "align"]

_AHEAD = 64
"""So many nodes are tried for a value behind the last one that had the value before."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a node of a graph gave."""

    node: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class Aligned:
    """The nodes of a line, beside what Python gives there."""

    same: frozenset[str]
    """Those whose value Python gives as well."""
    others: Sequence[tuple[Given, Seen]]
    """Those in whose place Python gives another value."""


def align(
    given: Sequence[Given],
    seen: Sequence[Seen],
    is_same: Callable[[Seen, Seen], bool],
    *,
    is_by_name: bool,
) -> Aligned:
    """Find as many nodes as possible whose values Python gives in the same order.

    What is left on both sides between two of these is paired where it is the same
    operations in the same order: each side does what the other one does not.
    Unless it is to be `is_by_name`, what is left between two of these in turn is paired
    where it is as many values of the same forms.
    """
    fits = _fitting(given, seen, is_same)
    pairs = [*_longest(fits, given, seen), (len(given), len(seen))]
    others: list[tuple[Given, Seen]] = []
    for (node, value), (next_node, next_value) in pairwise(pairs):
        nodes, values = given[node + 1 : next_node], seen[value + 1 : next_value]
        others += _in_place(nodes, values, is_by_name=is_by_name)
    return Aligned(frozenset(given[at].node for at, _ in pairs[1:-1]), others)


def _in_place(
    nodes: Sequence[Given], values: Sequence[Seen], *, is_by_name: bool
) -> Iterator[tuple[Given, Seen]]:
    """The pairs between two values that are the same on both sides."""
    names = {one.seen.name for one in nodes} & {one.name for one in values}
    named = [at for at, one in enumerate(nodes) if one.seen.name in names]
    alike = [at for at, one in enumerate(values) if one.name in names]
    if [nodes[at].seen.name for at in named] != [values[at].name for at in alike]:
        named, alike = [], []  # nobody can say which is which
    ends = [(-1, -1), *zip(named, alike, strict=True), (len(nodes), len(values))]
    yield from ((nodes[node], values[value]) for node, value in ends[1:-1])
    for (node, value), (next_node, next_value) in pairwise(ends):
        rest, others = nodes[node + 1 : next_node], values[value + 1 : next_value]
        forms = [_form(one.seen) for one in rest]
        if not is_by_name and forms == [_form(one) for one in others]:
            yield from zip(rest, others, strict=True)


def _form(seen: Seen) -> Sequence[object]:
    return [(one.dtype, one.shape) for one in seen.given]


def _fitting(
    given: Sequence[Given], seen: Sequence[Seen], is_same: Callable[[Seen, Seen], bool]
) -> Sequence[Sequence[int]]:
    """For each value of Python the nodes that have it, among those that may be its own."""
    # A long line is a loop, whose values come one after the other.
    is_loop = len(given) > _AHEAD
    first, found = 0, list[Sequence[int]]()
    for one in seen:
        ahead = range(first, min(first + _AHEAD, len(given)))
        fitting = (at for at in ahead if is_same(given[at].seen, one))
        found.append([*islice(fitting, 1)] if is_loop else [*fitting])
        if is_loop and found[-1]:
            first = found[-1][0] + 1
    return found


class _Chain(NamedTuple):
    """Pairs of a node and a value, in the order of both."""

    length: int
    of_one_name: int
    """How many are the same operation as well."""
    last: tuple[int, int]
    before: _Chain | None


def _longest(
    fits: Sequence[Sequence[int]], given: Sequence[Given], seen: Sequence[Seen]
) -> list[tuple[int, int]]:
    """The most pairs of a node and a value that are in the same order on both sides, and
    of these the most that are the same operation.
    """
    # By how many nodes may be used, the best with these.
    best: list[_Chain] = [_Chain(0, 0, (-1, -1), None)] * (len(given) + 1)
    for value, nodes in enumerate(fits):
        for node in sorted(nodes, reverse=True):
            old = best[node]
            is_one = given[node].seen.name == seen[value].name
            new = _Chain(old.length + 1, old.of_one_name + is_one, (node, value), old)
            for at in range(node + 1, len(best)):
                if new[:2] <= best[at][:2]:
                    break
                best[at] = new
    found: list[tuple[int, int]] = []
    chain: _Chain | None = best[-1]
    while chain is not None:
        found.append(chain.last)
        chain = chain.before
    return found[::-1]
