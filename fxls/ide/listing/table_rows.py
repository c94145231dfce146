"""The table of a graph as rows that can be sorted and searched, at any size."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import bytes_of, device_of, dtype_of, shape_of
from fxls.listing import Facts, Pieces, Tensor

__all__ = ["Column", "Row", "row", "rows"]


class Column(enum.Enum):
    """What rows are sorted by."""

    NODE = "node"
    """The order of the graph."""
    NAME = "name"
    OPCODE = "opcode"
    TARGET = "target"
    USERS = "users"
    SHAPE = "shape"
    """By how many numbers there are; symbolic sizes come first."""
    DTYPE = "dtype"
    DEVICE = "device"
    BYTES = "bytes"
    TIME = "time"
    """By the kernels that compute a node; what nobody measured comes first."""
    ERROR = "error"
    """By how much further off a value is than precision explains; what nobody compared
    comes first."""
    MODULE = "module"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Row:
    """A node as a line of the table; what is not known is empty or None."""

    name: str
    opcode: str
    target: str
    args: str
    kwargs: str
    users: int
    shape: str
    dtype: str
    device: str
    bytes: int | None
    module: str
    module_type: str
    passes: tuple[str, ...]


def rows(
    document: Document,
    column: Column = Column.NODE,
    *,
    descending: bool = False,
    search: str = "",
    amounts: tuple[float, ...] = (),
) -> list[int]:
    """The nodes that have all words of `search` in their row, in the order wanted;
    `amounts` has for each node its time or error, where they are sorted by that.

    Nodes that are equal in a column stay in the order of the graph, both ways.
    """
    words = search.lower().split()
    nodes = range(len(document.listing.nodes))
    found = [n for n in nodes if _has(document, n, words)] if words else [*nodes]
    key, facts = _KEYS[column], document.listing.nodes
    if column not in (Column.TIME, Column.ERROR):
        found.sort(
            key=lambda node: key(document, node, facts[node]), reverse=descending
        )
    elif amounts:
        found.sort(key=amounts.__getitem__, reverse=descending)
    return found


def row(document: Document, node: int) -> Row:
    """The row of a node."""
    listing = document.listing
    facts = listing.nodes[node]
    value = facts.value
    scope = None if facts.scope is None else listing.scopes[facts.scope]
    return Row(
        facts.name,
        facts.opcode,
        facts.target,
        ", ".join(_written(document, pieces) for pieces in facts.args),
        ", ".join(f"{name}={_written(document, p)}" for name, p in facts.kwargs),
        len(facts.users),
        shape_of(value),
        dtype_of(value),
        device_of(value),
        bytes_of(value),
        scope.path if scope else "",
        scope.type if scope else "",
        facts.passes,
    )


def _written(document: Document, pieces: Pieces) -> str:
    nodes = document.listing.nodes
    return "".join(nodes[p].name if isinstance(p, int) else p for p in pieces)


def _has(document: Document, node: int, words: list[str]) -> bool:
    facts = document.listing.nodes[node]
    text = " ".join(
        (
            facts.name,
            facts.opcode,
            facts.target,
            _module(document, node),
            shape_of(facts.value),
            dtype_of(facts.value),
            *facts.passes,
        )
    ).lower()
    return all(word in text for word in words)


def _module(document: Document, node: int) -> str:
    scope = document.listing.nodes[node].scope
    return "" if scope is None else document.listing.scopes[scope].path


def _size(facts: Facts) -> tuple[int, str]:
    if not isinstance(facts.value, Tensor):
        return (-1, "")
    count = 1
    for size in facts.value.shape:
        if isinstance(size, str):
            return (0, shape_of(facts.value))
        count *= size
    return (count, shape_of(facts.value))


def _bytes(facts: Facts) -> int:
    known = bytes_of(facts.value)
    return -1 if known is None else known


def _source(document: Document, node: int) -> tuple[str, int, int]:
    listing = document.listing
    origin = listing.nodes[node].origin
    if origin is None:
        return ("", 0, 0)
    frame = listing.frames[origin]
    return (listing.sources[frame.source].path, frame.line, frame.column)


def _number(name: str) -> tuple[str, int]:
    """``relu_2`` in front of ``relu_10``."""
    word, _, number = name.rpartition("_")
    return (word, int(number)) if number.isdecimal() else (name, -1)


_KEYS: dict[Column, Callable[[Document, int, Facts], Any]] = {
    Column.TIME: lambda document, node, facts: node,
    Column.ERROR: lambda document, node, facts: node,
    Column.NODE: lambda document, node, facts: node,
    Column.NAME: lambda document, node, facts: _number(facts.name),
    Column.OPCODE: lambda document, node, facts: facts.opcode,
    Column.TARGET: lambda document, node, facts: facts.target,
    Column.USERS: lambda document, node, facts: len(facts.users),
    Column.SHAPE: lambda document, node, facts: _size(facts),
    Column.DTYPE: lambda document, node, facts: dtype_of(facts.value),
    Column.DEVICE: lambda document, node, facts: device_of(facts.value),
    Column.BYTES: lambda document, node, facts: _bytes(facts),
    Column.MODULE: lambda document, node, facts: _module(document, node),
    Column.SOURCE: lambda document, node, facts: _source(document, node),
}
