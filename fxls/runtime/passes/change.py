"""What a pass did to a graph: the difference between two states of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from operator import is_
from typing import Any

from msgspec.structs import replace

from fxls.record import Pass, names, pairs
from fxls.runtime.passes.graph_state import GraphState, Row, is_same, nodes_in

__all__ = ["Change", "change", "with_change"]

_MOST = 16
"""So many earlier nodes are named that one node stands for."""

_Pairs = Sequence[tuple[Row, Row]]
"""The nodes that are in both states, in the order of the later one."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is different; nodes by their names, in the order of their graph."""

    created: tuple[str, ...]
    erased: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...]
    """An erased node, and what those that used it use where it stood."""
    altered: tuple[str, ...]
    """Nodes that stayed, with another name (the later one), target or argument."""
    moved: tuple[str, ...]
    """As few nodes as need be moved to make the one order of the other."""
    made_from: Mapping[str, tuple[str, ...]]
    """For each created node the earlier nodes that it, or what it leads to, stands for."""

    def __bool__(self) -> bool:
        return bool(self.created or self.erased or self.altered or self.moved)


def with_change(event: Pass, found: Change) -> Pass:
    """A pass with what it changed."""
    return replace(
        event,
        changed=bool(found),
        created=names([*found.created]),
        erased=names([*found.erased]),
        replaced=pairs([*found.replaced]),
        altered=names([*dict.fromkeys((*found.altered, *found.moved))]),
    )


def change(before: GraphState, after: GraphState) -> Change:
    """What became of a graph; the later one may be another graph, as that of a copy."""
    olds, news = _different(before.rows, after.rows)
    both = _pairs(olds, news)
    left = {id(old) for old, _ in both}
    stayed = {id(new) for _, new in both}
    erased = [row for row in olds if id(row) not in left]
    created = [row for row in news if id(row) not in stayed]
    in_copy = before.module is not after.module
    altered = [pair for pair in both if not is_same(*pair, in_copy=in_copy)]
    new_of = _new_of(both, altered)
    return Change(
        created=tuple(row.name for row in created),
        erased=tuple(row.name for row in erased),
        replaced=tuple(
            (row.name, new) for row in erased for new in new_of.get(row.name, ())
        ),
        altered=tuple(new.name for _, new in altered),
        moved=tuple(_moved(olds, both)),
        made_from=_made_from(created, erased, new_of),
    )


def _different(
    before: Sequence[Row], after: Sequence[Row]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows between those at the beginning and at the end that both have.

    Most passes change a few nodes that stand together. What is left out stayed, and is
    in each longest row of nodes whose order stayed.
    """
    rows = zip(before, after, strict=False)
    first = sum(1 for _ in takewhile(_is_untouched, rows))
    olds, news = before[first:], after[first:]
    rows = zip(reversed(olds), reversed(news), strict=False)
    last = sum(1 for _ in takewhile(_is_untouched, rows))
    return olds[: len(olds) - last], news[: len(news) - last]


def _is_untouched(pair: tuple[Row, Row]) -> bool:
    """Whether all of a node is the same object, which takes no look at values."""
    one, other = pair
    return one is other or all(map(is_, one, other))


def _pairs(before: Sequence[Row], after: Sequence[Row]) -> _Pairs:
    """A node is the same object, or else has the same name."""
    by_node = {id(row.node): row for row in before}
    found = {id(row): by_node.get(id(row.node)) for row in after}
    taken = {id(old) for old in found.values()}
    by_name = {row.name: row for row in before if id(row) not in taken}
    pairs = ((found[id(row)] or by_name.get(row.name), row) for row in after)
    return [(old, new) for old, new in pairs if old is not None]


def _new_of(pairs: _Pairs, altered: _Pairs) -> dict[str, tuple[str, ...]]:
    """What stands in arguments where another node stood, by the name of that."""
    before: dict[int, str] = {id(old.node): old.name for old, _ in pairs}
    found: dict[str, dict[str, None]] = {}
    for old, new in altered:
        if old.args is new.args and old.kwargs is new.kwargs:
            continue
        had = dict(nodes_in((old.args, old.kwargs)))
        for place, node in nodes_in((new.args, new.kwargs)):
            earlier = had.get(place, node)
            if earlier is not node:
                key: str = before.get(id(earlier)) or earlier.name
                if key != node.name:
                    found.setdefault(key, {})[node.name] = None
    return {old: tuple(new) for old, new in found.items()}


def _made_from(
    created: Sequence[Row],
    erased: Sequence[Row],
    new_of: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    ways = {
        row.name: [node.name for node in _inputs(row)] for row in (*erased, *created)
    }
    gone = {row.name for row in erased}
    made: dict[str, dict[str, None]] = {row.name: {} for row in created}
    for old, news in new_of.items():
        for new in news:
            if new in made:
                made[new].update(dict.fromkeys(_behind(old, ways, gone)))
    # What leads to a created node, and takes the place of none itself, is made for it.
    for row in reversed(created):
        for name in ways[row.name]:
            if name in made and len(made[name]) < _MOST:
                made[name].update(made[row.name])
    return {name: tuple(found)[:_MOST] for name, found in made.items() if found}


def _behind(
    name: str, ways: Mapping[str, Sequence[str]], gone: set[str]
) -> Iterator[str]:
    """A node, and the erased ones that it was computed of: they went together."""
    waiting, seen = [name], {name}
    while waiting and len(seen) <= _MOST:
        one = waiting.pop(0)
        yield one
        if one in gone:
            more = [n for n in ways[one] if n in gone and n not in seen]
            seen.update(more)
            waiting += dict.fromkeys(more)


def _inputs(row: Row) -> Iterable[Any]:
    return [node for _, node in nodes_in((row.args, row.kwargs))]


def _moved(before: Sequence[Row], pairs: _Pairs) -> list[str]:
    """Those that are not in the longest row of nodes whose order stayed."""
    at = {id(row): place for place, row in enumerate(before)}
    places = [at[id(old)] for old, _ in pairs]
    if all(a < b for a, b in pairwise(places)):
        return []
    ends: list[int] = []
    """The least place in which an ascending row of each length ends."""
    longest: list[int] = []
    """For each place, the length of the longest ascending row that ends there."""
    for place in places:
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        longest.append(length)
    stay, length, below = set[int](), len(ends) - 1, len(before)
    for index in range(len(places) - 1, -1, -1):
        if longest[index] == length and places[index] < below:
            stay.add(index)
            length, below = length - 1, places[index]
    return [new.name for i, (_, new) in enumerate(pairs) if i not in stay]
