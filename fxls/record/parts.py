"""What the events of a record are made of: places, names of revisions, nodes, patterns."""

from __future__ import annotations

from typing import Annotated

import msgspec

from fxls.listing import Identity, Place

__all__ = [
    "MOST_NAMES",
    "MatchedPattern",
    "Names",
    "Natural",
    "Pairs",
    "QuotedPlace",
    "RevisionName",
    "names",
    "pairs",
]

MOST_NAMES = 64
"""So many nodes of each kind a pass names; it counts them all."""

_LONGEST_NAME = 200

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class QuotedPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a source, and what stood there when the program ran."""

    place: Place
    line: str = ""
    """The text of its first line, without its end; empty where nobody has it."""
    digest: str = ""
    """That of the file, as `fxls.listing.source_digest` makes it; empty likewise."""


class RevisionName(msgspec.Struct, frozen=True):
    """How the store names one revision of an identity."""

    identity: Identity
    text: str
    """The name of the file of its text."""
    facts: str = ""
    """The hash of its sidecar; empty where that is not written yet."""


class Names(msgspec.Struct, frozen=True, omit_defaults=True):
    """Names of nodes: the first of them, and how many there are."""

    count: Natural = 0
    first: tuple[str, ...] = ()


class Pairs(msgspec.Struct, frozen=True, omit_defaults=True):
    """Nodes, each with another one or a word: the first of them, and how many there are."""

    count: Natural = 0
    first: tuple[tuple[str, str], ...] = ()


class MatchedPattern(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pattern that a pass looks for, and had matches of."""

    name: str
    """That of the pattern or the operator, or of the function that it is made of."""
    count: Natural = 1
    """How many matches it had; of an operator that was decomposed, how many nodes."""
    place: QuotedPlace | None = None
    """Where that function is written."""


def names(found: list[str]) -> Names:
    """As many of these as are kept."""
    return Names(len(found), tuple(one[:_LONGEST_NAME] for one in found[:MOST_NAMES]))


def pairs(found: list[tuple[str, str]]) -> Pairs:
    """As many of these as are kept."""
    kept = tuple(
        (old[:_LONGEST_NAME], new[:_LONGEST_NAME]) for old, new in found[:MOST_NAMES]
    )
    return Pairs(len(found), kept)
