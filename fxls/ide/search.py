"""Listings and nodes by a few letters of their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fxls.ide.document import Destination, Document
from fxls.listing import Identity

__all__ = ["MOST", "Found", "found_listings", "found_nodes", "matches"]

MOST = 500
"""More answers than this nobody looks at."""


@dataclass(frozen=True, slots=True)
class Found:
    """A listing, or a node of one, that a query names."""

    name: str
    container: str
    kind: str
    """``forward``, or the opcode of a node."""
    path: str
    there: Destination | None
    """Where in the file; None for a listing that was not read."""


def matches(query: str, name: str) -> bool:
    """Whether the letters of the query stand in the name, in their order."""
    rest = iter(name.lower())
    return all(letter in rest for letter in query.lower() if not letter.isspace())


def found_listings(
    query: str, newest: Iterable[tuple[Identity, str]]
) -> Iterator[Found]:
    """The identities that a query names, each with the path of its newest revision."""
    for identity, path in newest:
        name = f"{identity.qualname}.forward"
        if matches(query, f"{identity.module}.{name}"):
            words = [identity.module, identity.producer, identity.stage]
            if identity.rank is not None:
                words.append(f"rank {identity.rank}")
            yield Found(name, " ".join(filter(None, words)), "forward", path, None)


def found_nodes(query: str, documents: Iterable[Document]) -> Iterator[Found]:
    """The nodes that a query names; none for one of less than three letters."""
    if len(query.strip()) < 3:
        return
    for document in documents:
        container = f"{document.listing.identity.qualname}.forward"
        for node, facts in enumerate(document.listing.nodes):
            if matches(query, facts.name) or matches(query, facts.target):
                there = document.destination(node)
                yield Found(facts.name, container, facts.opcode, document.path, there)
