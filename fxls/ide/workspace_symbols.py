"""Listings and nodes by a few letters of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fxls.ide.listing.document import Destination, Document
from fxls.listing import Identity

__all__ = ["MOST", "Found", "found_listings", "found_nodes", "matcher"]

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


def matcher(query: str) -> re.Pattern[str]:
    """Finds, in a text in small letters, the lines that have the letters of the query
    in their order.
    """
    letters = [re.escape(letter) for letter in query.lower() if not letter.isspace()]
    return re.compile("[^\n]*?".join(letters))


def found_listings(
    query: str, newest: Iterable[tuple[Identity, str]]
) -> Iterator[Found]:
    """The identities that a query names, each with the path of its newest revision."""
    wanted = matcher(query)
    for identity, path in newest:
        name = f"{identity.qualname}.forward"
        if wanted.search(f"{identity.module}.{name}".lower()):
            words = [identity.module, identity.producer, identity.stage]
            if identity.rank is not None:
                words.append(f"rank {identity.rank}")
            yield Found(name, " ".join(filter(None, words)), "forward", path, None)


def found_nodes(query: str, documents: Iterable[Document]) -> Iterator[Found]:
    """The nodes that a query names; none for one of less than three letters."""
    if len(query.strip()) < 3:
        return
    wanted = matcher(query)
    for document in documents:
        container = f"{document.listing.identity.qualname}.forward"
        # One search over all lines, because there may be a hundred thousand nodes.
        text, at, node = document.names, 0, 0
        while match := wanted.search(text, at):
            node += text.count("\n", at, match.start())
            facts, there = document.listing.nodes[node], document.destination(node)
            yield Found(facts.name, container, facts.opcode, document.path, there)
            at, node = text.find("\n", match.end()) + 1, node + 1
            if not at:
                break
