"""Which node of a listing is which node of another one, whatever they are called."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from fxls.listing import Listing

__all__ = ["aligned", "matched", "rising"]

_Key = tuple[object, ...]
_Pairs = list[tuple[int, int]]


def aligned(old: Listing, new: Listing) -> dict[int, int]:
    """For the nodes of `new` that `old` has too, in the same order, the node there.

    Nodes are the same that do the same in the same submodule, on constants that are
    the same: names and the nodes that are read do not count, because they are others
    behind every change. Of what is left between two of these, nodes of one name are.
    """
    numbers: dict[_Key, int] = {}
    before, after = (
        [numbers.setdefault(key, len(numbers)) for key in _keys(listing)]
        for listing in (old, new)
    )
    pairs = {b: a for a, b in matched(before, after)}
    return {**pairs, **_named_alike(old, new, pairs)}


def _keys(listing: Listing) -> Iterator[_Key]:
    for facts in listing.nodes:
        scope = None if facts.scope is None else listing.scopes[facts.scope].path
        # The target of an input is its name, which says which one it is.
        yield (
            facts.opcode,
            facts.target,
            scope,
            tuple(_constant(pieces) for pieces in facts.args),
            tuple((name, _constant(pieces)) for name, pieces in facts.kwargs),
        )


def _constant(pieces: Sequence[str | int]) -> tuple[str, ...]:
    return tuple("" if isinstance(piece, int) else piece for piece in pieces)


def matched(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The places of equal numbers that are in the same order in both rows.

    Found by what both begin and end with, and by what each has only once.
    """
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        a, a_end, b, b_end = waiting.pop()
        while a < a_end and b < b_end and old[a] == new[b]:
            yield a, b
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            yield a_end, b_end
        if a == a_end or b == b_end:
            continue
        fixed = _once(old, new, (a, a_end, b, b_end))
        if not fixed:
            yield from _counted(old, new, (a, a_end, b, b_end))
            continue
        for left, right in [*fixed, (a_end, b_end)]:
            waiting.append((a, left, b, right))
            a, b = left, right


def _named_alike(old: Listing, new: Listing, pairs: dict[int, int]) -> dict[int, int]:
    """More pairs: nodes of one name and opcode that stand between the same others."""
    paired = {*pairs.values()}
    left = {
        (facts.name, facts.opcode): node
        for node, facts in enumerate(old.nodes)
        if node not in paired
    }
    bounds: list[int] = []
    below = len(old.nodes)
    for node in reversed(range(len(new.nodes))):
        bounds.append(below)
        below = pairs.get(node, below)
    found: dict[int, int] = {}
    above = -1
    for (node, facts), bound in zip(
        enumerate(new.nodes), reversed(bounds), strict=True
    ):
        there = pairs.get(node)
        if there is None:
            there = left.get((facts.name, facts.opcode), -1)
            if not above < there < bound:
                continue
            found[node] = there
        above = there
    return found


def _once(
    old: Sequence[int], new: Sequence[int], within: tuple[int, int, int, int]
) -> _Pairs:
    """The nodes that each side has once, as many as are in the same order."""
    a, a_end, b, b_end = within
    in_old, in_new = Counter(old[a:a_end]), Counter(new[b:b_end])
    where = {old[at]: at for at in range(a, a_end) if in_old[old[at]] == 1}
    found = [
        (where[new[at]], at)
        for at in range(b, b_end)
        if in_new[new[at]] == 1 and new[at] in where
    ]
    return rising(found)


def _counted(
    old: Sequence[int], new: Sequence[int], within: tuple[int, int, int, int]
) -> _Pairs:
    """The first of a kind with the first, the second with the second, and so on."""
    a, a_end, b, b_end = within
    where: dict[int, list[int]] = {}
    for at in reversed(range(a, a_end)):
        where.setdefault(old[at], []).append(at)
    left = ((where.get(new[at]), at) for at in range(b, b_end))
    return rising([(known.pop(), at) for known, at in left if known])


def rising(pairs: _Pairs) -> _Pairs:
    """The longest part of pairs, which rise on the right, that rises on the left."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int | None] = []
    for number, (left, _) in enumerate(pairs):
        at = bisect_left(tops, left)
        before.append(ends[at - 1] if at else None)
        if at == len(tops):
            tops.append(left)
            ends.append(number)
        else:
            tops[at], ends[at] = left, number
    found: _Pairs = []
    number = ends[-1] if ends else None
    while number is not None:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
