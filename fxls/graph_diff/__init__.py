"""What is different between two graphs: a question about their listings.

Nodes are those that `fxls.graph_diff.graph_matching` finds to be the same, so another name is no
difference, neither of a node nor of a symbolic size. What the diff says of a node is
what it does, what it reads, what it gives, and where it stands among the others.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fxls.counted import counted
from fxls.graph_diff.graph_matching import moved_among, same_nodes
from fxls.graph_diff.node_keys import inputs_of
from fxls.listing import Facts, Items, Listing, Pieces, Place, Plain, Tensor, Value

__all__ = [
    "SCHEMA",
    "Altered",
    "Difference",
    "GraphDiff",
    "Moved",
    "Replaced",
    "What",
    "as_json",
    "call_text",
    "graph_diff",
    "places_of_erased",
    "summary",
]

SCHEMA = 1
"""The version of what `as_json` gives; a new key does not change it."""


class What(enum.Enum):
    """What of a node is different."""

    TARGET = "target"
    ARGUMENTS = "arguments"
    SHAPE = "shape"
    DTYPE = "dtype"
    DEVICE = "device"
    STRIDE = "stride"
    VALUE = "value"
    """What is known of a value that is no tensor."""
    TYPE = "type"
    """The annotation."""
    DETAIL = "detail"
    """The submodule or the attribute that it names."""


_OF_SHAPE = (What.SHAPE, What.STRIDE)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is different; arguments of both are written with the new names."""

    what: What
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Altered:
    """A node of both graphs that is not the same in both."""

    old: int
    new: int
    differences: tuple[Difference, ...]

    @property
    def is_in_call(self) -> bool:
        """Whether it calls something else, and not only gives something else."""
        in_call = (What.TARGET, What.ARGUMENTS, What.TYPE, What.DETAIL)
        return any(one.what in in_call for one in self.differences)


@dataclass(frozen=True, slots=True)
class Moved:
    """A node of both graphs that stands elsewhere among the others."""

    old: int
    new: int
    before: int | None
    """The node of the new graph that it stands before, of those that stayed in place."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """Nodes that went, and those that came, of one expression of the source."""

    old: tuple[int, ...]
    new: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """Nodes by their indices, in the order of their graphs."""

    old: Listing
    new: Listing
    same: Mapping[int, int]
    """For the nodes of the new graph that the old one has too, the node there."""
    created: tuple[int, ...]
    erased: tuple[int, ...]
    altered: tuple[Altered, ...]
    moved: tuple[Moved, ...]
    replaced: tuple[Replaced, ...]

    def __bool__(self) -> bool:
        changed = self.created or self.erased or self.altered or self.moved
        return bool(changed) or self.parameters_differ

    @property
    def parameters_differ(self) -> bool:
        """Whether both say how many numbers their parameters hold, and not the same."""
        had, has = self.old.parameters, self.new.parameters
        return had is not None and has is not None and had != has

    @property
    def shapes(self) -> int:
        """How many nodes of both graphs have another shape."""
        return sum(
            any(one.what in _OF_SHAPE for one in node.differences)
            for node in self.altered
        )

    @property
    def first(self) -> tuple[Listing, int] | None:
        """The first node that is not the same in both: of the new graph, or of the old
        one where that one alone has it; None where there is none.
        """
        nodes = (*self.created, *(one.new for one in (*self.altered, *self.moved)))
        first = min(nodes, default=None)
        if self.erased:
            gone = self.erased[0]
            # Of one place what went comes before what came.
            if first is None or places_of_erased(self)[gone] <= first:
                return self.old, gone
        return None if first is None else (self.new, first)


def places_of_erased(diff: GraphDiff) -> dict[int, int]:
    """For each node that went, that of the new graph before which it would stand."""
    moved = {one.new for one in diff.moved}
    back = {there: at for at, there in diff.same.items() if at not in moved}
    found: dict[int, int] = {}
    place = 0
    for at in range(len(diff.old.nodes)):
        place = back.get(at, place - 1) + 1
        found[at] = place
    return {at: found[at] for at in diff.erased}


def graph_diff(old: Listing, new: Listing) -> GraphDiff:
    """What is different between two graphs."""
    same = same_nodes(old, new)
    left = {*same.values()}
    created = tuple(node for node in range(len(new.nodes)) if node not in same)
    erased = tuple(node for node in range(len(old.nodes)) if node not in left)
    comparison = _Comparison(old, new, same)
    altered = (
        Altered(same[node], node, differences)
        for node in sorted(same)
        if (differences := tuple(comparison.of(same[node], node)))
    )
    return GraphDiff(
        old,
        new,
        same,
        created,
        erased,
        tuple(altered),
        _moved(same),
        _replaced(old, new, erased, created),
    )


def summary(diff: GraphDiff) -> str:
    """``+3 -7 ~2 nodes, 1 moved, 2 shapes, parameters 12 -> 10``."""
    counts = (
        ("+", len(diff.created)),
        ("-", len(diff.erased)),
        ("~", len(diff.altered)),
    )
    words = " ".join(f"{sign}{count}" for sign, count in counts if count)
    noun = "node" if sum(count for _, count in counts) == 1 else "nodes"
    found = [f"{words} {noun}"] if words else []
    if diff.moved:
        found.append(f"{len(diff.moved)} moved")
    if diff.shapes:
        found.append(counted(diff.shapes, "shape"))
    if diff.parameters_differ:
        found.append(f"parameters {diff.old.parameters:,} -> {diff.new.parameters:,}")
    return ", ".join(found) or "no difference"


def call_text(listing: Listing, node: int) -> str:
    """The target of a node and its arguments, as they stand in a call."""
    facts = listing.nodes[node]
    return f"{facts.target}({_arguments(facts, [f.name for f in listing.nodes])})"


def as_json(diff: GraphDiff) -> dict[str, Any]:
    """A diff for programs; lines and columns count from one."""
    old, new = diff.old, diff.new
    return {
        "schema": SCHEMA,
        "same": not diff,
        "summary": {
            "created": len(diff.created),
            "erased": len(diff.erased),
            "altered": len(diff.altered),
            "moved": len(diff.moved),
            "shapes": diff.shapes,
        },
        "parameters": {"old": old.parameters, "new": new.parameters},
        "created": [_node(new, node) for node in diff.created],
        "erased": [_node(old, node) for node in diff.erased],
        "altered": [
            {"old": old.nodes[one.old].name, "new": new.nodes[one.new].name}
            | {"line": new.nodes[one.new].line + 1}
            | {
                "differences": [
                    {"what": each.what.value, "old": each.old, "new": each.new}
                    for each in one.differences
                ]
            }
            for one in diff.altered
        ],
        "moved": [
            {"old": old.nodes[one.old].name, "new": new.nodes[one.new].name}
            | {"line": new.nodes[one.new].line + 1}
            | {"before": None if one.before is None else new.nodes[one.before].name}
            for one in diff.moved
        ],
        "replaced": [
            {"old": [old.nodes[node].name for node in one.old]}
            | {"new": [new.nodes[node].name for node in one.new]}
            | {"place": _place(one.place)}
            for one in diff.replaced
        ],
    }


def _node(listing: Listing, node: int) -> dict[str, Any]:
    facts = listing.nodes[node]
    origin = listing.origin(node)
    return {
        "name": facts.name,
        "opcode": facts.opcode,
        "target": facts.target,
        "line": facts.line + 1,
        "place": None if origin is None else _place(origin.places[0]),
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "path": place.path,
        "function": place.function,
        "line": place.span.start.line + 1,
        "column": place.span.start.column + 1,
        "end_line": place.span.end.line + 1,
        "end_column": place.span.end.column + 1,
    }


# -- what is different in a node -------------------------------------------------------


class _Comparison:
    def __init__(self, old: Listing, new: Listing, same: Mapping[int, int]) -> None:
        self._old, self._new = old, new
        self._back = {there: node for node, there in same.items()}
        self._new_names = [facts.name for facts in new.nodes]
        self._old_names = _in_new_names(old, self._back, self._new_names)
        self._symbols: dict[str, str] = {}
        """The symbolic sizes of the old graph, each with the new one it was met with."""
        self._met: dict[str, str] = {}

    def of(self, there: int, node: int) -> Iterator[Difference]:
        """How a node of the old graph is another in the new one."""
        had, has = self._old.nodes[there], self._new.nodes[node]
        if had.opcode != "placeholder" and had.target != has.target:
            yield Difference(What.TARGET, had.target, has.target)
        if self._inputs(had) != inputs_of(has) or _constants(had) != _constants(has):
            yield Difference(
                What.ARGUMENTS,
                _arguments(had, self._old_names),
                _arguments(has, self._new_names),
            )
        yield from self._values(had.value, has.value)
        for what, one, other in (
            (What.TYPE, had.type, has.type),
            (What.DETAIL, had.detail, has.detail),
        ):
            if one is not None and other is not None and one != other:
                yield Difference(what, one, other)

    def _inputs(self, facts: Facts) -> tuple[int, ...]:
        return tuple(self._back.get(one, -1) for one in inputs_of(facts))

    def _values(self, had: Value | None, has: Value | None) -> Iterator[Difference]:
        match had, has:
            case Tensor(), Tensor():
                yield from self._tensors(had, has)
            case Items(), Items() if len(had.items) == len(has.items) and (
                (had.kind, had.keys) == (has.kind, has.keys)
            ):
                for one, other in zip(had.items, has.items, strict=True):
                    yield from self._values(one, other)
            case Plain(), Plain() if had.kind == has.kind:
                if not self._is_alike(had.text, has.text):
                    yield Difference(What.VALUE, had.text, has.text)
            case (None, _) | (_, None):
                return  # nobody knows
            case _:
                yield Difference(What.VALUE, _kind(had), _kind(has))

    def _tensors(self, had: Tensor, has: Tensor) -> Iterator[Difference]:
        if not self._is_alike(_sizes(had.shape), _sizes(has.shape)):
            yield Difference(What.SHAPE, _sizes(had.shape), _sizes(has.shape))
        elif had.stride is not None and has.stride is not None:
            one, other = _sizes(had.stride), _sizes(has.stride)
            if not self._is_alike(one, other):
                yield Difference(What.STRIDE, one, other)
        for what, one, other in (
            (What.DTYPE, had.dtype, has.dtype),
            (What.DEVICE, had.device, has.device),
        ):
            if one != other:
                yield Difference(what, one, other)

    def _is_alike(self, old: str, new: str) -> bool:
        """Whether two texts are the same but for the names of symbolic sizes."""
        if old == new and not _SYMBOL.search(old):
            return True
        if _SYMBOL.split(old) != _SYMBOL.split(new):
            return False
        found = zip(_SYMBOL.findall(old), _SYMBOL.findall(new), strict=True)
        # Each stands for one: two sizes that became one are a difference.
        return all(
            self._symbols.setdefault(one, other) == other
            and self._met.setdefault(other, one) == one
            for one, other in found
        )


# -- how it is written -----------------------------------------------------------------

_SYMBOL = re.compile(r"\b(?:s|u|f|zuf|zf)\d+\b")
"""A symbolic size: torch numbers them as it meets them."""


def _arguments(facts: Facts, names: Sequence[str]) -> str:
    given = [_written(pieces, names) for pieces in facts.args]
    given += [f"{key}={_written(pieces, names)}" for key, pieces in facts.kwargs]
    return ", ".join(given)


def _written(pieces: Pieces, names: Sequence[str]) -> str:
    return "".join(one if isinstance(one, str) else names[one] for one in pieces)


def _constants(facts: Facts) -> tuple[object, ...]:
    given = (*(("", one) for one in facts.args), *sorted(facts.kwargs))
    return tuple(
        (key, tuple("" if isinstance(one, int) else one for one in pieces))
        for key, pieces in given
    )


def _in_new_names(
    old: Listing, back: Mapping[int, int], new_names: Sequence[str]
) -> list[str]:
    """The nodes of the old graph, by the names that they have in the new one."""
    taken = {*new_names}
    found: list[str] = []
    for there, facts in enumerate(old.nodes):
        if there in back:
            found.append(new_names[back[there]])
        else:
            found.append(f"old {facts.name}" if facts.name in taken else facts.name)
    return found


def _sizes(sizes: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _kind(value: Value | None) -> str:
    match value:
        case Tensor():
            return f"a tensor {_sizes(value.shape)}"
        case Items():
            return f"a {value.kind} of {len(value.items)}"
        case Plain():
            return f"{value.kind} {value.text}"
        case None:
            return "nothing"


def _moved(same: Mapping[int, int]) -> tuple[Moved, ...]:
    moved = {*moved_among(same)}
    found: list[Moved] = []
    before: int | None = None
    for node in sorted(same, reverse=True):
        if node in moved:
            found.append(Moved(same[node], node, before))
        else:
            before = node
    return tuple(reversed(found))


def _replaced(
    old: Listing, new: Listing, erased: Sequence[int], created: Sequence[int]
) -> tuple[Replaced, ...]:
    went, came = _by_place(old, erased), _by_place(new, created)
    return tuple(
        Replaced(tuple(went[place]), tuple(nodes), place)
        for place, nodes in came.items()
        if place in went
    )


def _by_place(listing: Listing, nodes: Sequence[int]) -> dict[Place, list[int]]:
    """Nodes by the expression that they came from, without those of which none knows."""
    found: dict[Place, list[int]] = {}
    for node in nodes:
        origin = listing.origin(node)
        if origin is not None:
            found.setdefault(origin.places[0], []).append(node)
    return found
