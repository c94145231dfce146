"""The table of a graph: how much there is of what, and a row for each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fxls.ide.card import Block, Card, Code, Grid, Inline, Line
from fxls.ide.document import Document
from fxls.ide.values import dtype_of, shape_of, size_of
from fxls.ide.wording import arguments, counted, keywords, node_link, place_link
from fxls.listing import Facts, Tensor

__all__ = ["ROWS", "table"]

ROWS = 60
"""The table on ``def forward`` shows so many nodes."""


def table(document: Document, rows: int) -> Card:
    """The graph of a listing: how much there is of what, and its first `rows` nodes."""
    listing = document.listing
    opcodes = Counter(facts.opcode for facts in listing.nodes)
    totals = ", ".join(f"{count} {opcode}" for opcode, count in opcodes.items())
    title = [
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
    header = ("name", "op", "target", "args", "kwargs", "users")
    header += ("shape", "dtype", "source")
    shown = range(min(rows, len(listing.nodes)))
    card: list[Block] = [
        Line(tuple(title)),
        Grid(header, tuple(_row(document, node) for node in shown)),
    ]
    left = len(listing.nodes) - rows
    if left > 0:
        card.append(
            Line(
                (
                    f"… and {left:,} more. ",
                    Code("fxls trace --show table"),
                    " prints all.",
                )
            )
        )
    return tuple(card)


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
