"""The table of a graph: how much there is of what, and a row for each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fxls.counted import counted
from fxls.ide.listing.card import Block, Card, Code, Grid, Inline, Line, Link, TableLink
from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import dtype_of, shape_of, short_form, size_of
from fxls.ide.listing.wording import arguments, keywords, node_link, place_link
from fxls.listing import Facts, Tensor

__all__ = ["summary", "table"]

_ROWS = 60
"""A summary has so many nodes."""

_WIDEST = 36
"""Characters of a cell of a summary; what is longer is cut."""


def summary(document: Document) -> Card:
    """The graph of a listing in the width of a hover: its totals and first nodes."""
    nodes = document.listing.nodes
    header = ("name", "target", "value", "users", "source")
    shown = range(min(_ROWS, len(nodes)))
    whole = TableLink("All nodes and columns", document.path)
    command = Code("fxls trace --show table")
    card: list[Block] = [
        Line(_title(document)),
        Line((whole, ": the lens above, or ", command, ".")),
        Grid(header, tuple(_short_row(document, node) for node in shown)),
    ]
    left = len(nodes) - len(shown)
    return (*card, Line((f"… and {left:,} more",))) if left else tuple(card)


def table(document: Document, rows: int) -> Card:
    """The graph of a listing: how much there is of what, and its first `rows` nodes."""
    nodes = document.listing.nodes
    header = ("name", "op", "target", "args", "kwargs", "users")
    header += ("shape", "dtype", "source")
    shown = range(min(rows, len(nodes)))
    card: list[Block] = [
        Line(_title(document)),
        Grid(header, tuple(_row(document, node) for node in shown)),
    ]
    left = len(nodes) - rows
    if left > 0:
        said = (f"… and {left:,} more. ", Code("fxls trace --show table"))
        card.append(Line((*said, " prints all.")))
    return tuple(card)


def _title(document: Document) -> tuple[Inline, ...]:
    listing = document.listing
    opcodes = Counter(facts.opcode for facts in listing.nodes)
    totals = ", ".join(f"{count} {opcode}" for opcode, count in opcodes.items())
    title: list[Inline] = [
        Code(listing.identity.qualname),
        f": {counted(len(listing.nodes), 'node')}",
    ]
    if totals:
        title.append(f" ({totals})")
    if listing.parameters is not None:
        title.append(f", {counted(listing.parameters, 'parameter')}")
    activations = _activations(listing.nodes)
    if activations:
        title.append(f", {size_of(activations)} of activations")
    return tuple(title)


def _short_row(document: Document, node: int) -> tuple[tuple[Inline, ...], ...]:
    listing = document.listing
    facts = listing.nodes[node]
    place = next(listing.places(facts.origin), None)
    name = node_link(document, node)
    value = "" if facts.value is None else short_form(facts.value)
    return (
        (Link(_cut(name.text), name.path, name.point),),
        (Code(_cut(facts.target)),),
        (Code(_cut(value)),) if value else (),
        (str(len(facts.users)),),
        (place_link(place),) if place else (),
    )


def _cut(text: str) -> str:
    """With its end, which tells more than the start: ``…functional.relu``."""
    return text if len(text) <= _WIDEST else f"…{text[1 - _WIDEST :]}"


def _row(document: Document, node: int) -> tuple[tuple[Inline, ...], ...]:
    listing = document.listing
    facts = listing.nodes[node]
    place = next(listing.places(facts.origin), None)
    return (
        (node_link(document, node),),
        (facts.opcode,),
        (Code(facts.target),),
        arguments(document, facts.args),
        keywords(document, facts.kwargs),
        (str(len(facts.users)),),
        (shape_of(facts.value),),
        (dtype_of(facts.value),),
        (place_link(place),) if place else (),
    )


def _activations(nodes: Sequence[Facts]) -> int:
    """The bytes of all that the nodes compute; inputs and attributes are there before.

    An upper bound: a view shares the memory of what it is a view of.
    """
    return sum(
        facts.value.bytes or 0
        for facts in nodes
        if facts.opcode not in ("placeholder", "get_attr", "output")
        and isinstance(facts.value, Tensor)
    )
