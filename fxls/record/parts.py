"""What the events of a record are made of: places, guards, names of revisions, nodes, patterns."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import msgspec

from fxls.listing import Identity, Place

__all__ = [
    "MOST_JUDGED",
    "MOST_NAMES",
    "Guard",
    "JudgedValue",
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

MOST_JUDGED = 2_000
"""So many values of a graph are told of a step, those that are furthest off."""

_LONGEST_NAME = 200
_LARGEST = sys.float_info.max

Magnitude = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
"""How large a number is; what is infinite has the largest one, as JSON has no other."""

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class QuotedPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a source, and what stood there when the program ran."""

    place: Place
    line: str = ""
    """The text of its first line, without its end; empty where nobody has it."""
    digest: str = ""
    """That of the file, as `fxls.listing.source_digest` makes it; empty likewise."""


class Guard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has to hold so that a compilation can be used again."""

    kind: str
    """torch's word, as ``TENSOR_MATCH``; ``SIZE`` for what was found out of a size."""
    text: str
    """The condition, as torch writes it."""
    place: QuotedPlace | None = None
    """The line of the program because of which there is the guard."""


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


class JudgedValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far the value of a node is from what it should be."""

    node: str
    error: Magnitude = 0.0
    """The largest distance from what float64 gives for the same inputs; zero where each
    bit is as it was without the step."""
    allowed: Magnitude = 0.0
    """The largest distance that precision explains."""
    scale: Magnitude = 0.0
    """The largest value that float64 gives."""
    is_wrong: bool = False
    sides: str = ""
    """Where they differ most: what eager has there, and what was compiled."""

    @property
    def is_finite(self) -> bool:
        """Whether it is where it should be."""
        return self.error < _LARGEST

    @property
    def share(self) -> float:
        """The error as a multiple of what precision explains; above one it is wrong."""
        if not self.error:
            return 0.0
        return self.error / self.allowed if self.allowed else math.inf


def names(found: list[str]) -> Names:
    """As many of these as are kept."""
    return Names(len(found), tuple(one[:_LONGEST_NAME] for one in found[:MOST_NAMES]))


def pairs(found: list[tuple[str, str]]) -> Pairs:
    """As many of these as are kept."""
    kept = tuple(
        (old[:_LONGEST_NAME], new[:_LONGEST_NAME]) for old, new in found[:MOST_NAMES]
    )
    return Pairs(len(found), kept)
