"""What came of asking each graph of a run whether it is good.

It crosses from the process of the program to the command line, as MessagePack.
"""

from __future__ import annotations

import msgspec

__all__ = ["CODE", "Bisection", "FirstBad", "Untested", "decode", "encode"]

CODE = "inductor's code"
"""The last step of a graph: the function is given what runs in its place."""


class FirstBad(msgspec.Struct, frozen=True):
    """A step behind which a graph is bad that is good before it."""

    compilation: str
    stage: str
    """The graph, as `fxls list` names it."""
    name: str
    """Of the pass; empty where the graph was bad as it was captured."""
    ordinal: int
    reason: str
    """What the predicate raised or returned."""


class Untested(msgspec.Struct, frozen=True):
    """A graph of which the predicate could say nothing, and why."""

    compilation: str
    stage: str
    name: str
    """Of the pass that made it."""
    why: str


class Bisection(msgspec.Struct, frozen=True):
    """What came of all compilations of a program."""

    schema: int
    found: tuple[FirstBad, ...]
    """The first of each compilation, in their order."""
    untested: tuple[Untested, ...]
    compilations: int
    """How many were called."""
    tested: int
    """Of how many graphs the predicate was asked, and answered."""
    refused: str = ""
    """Why there is no predicate, as a sentence."""
    raised: str | None = None
    """What the program ended with, where that was an error."""

    @property
    def is_good(self) -> bool:
        """Whether every graph was tested, and is good."""
        is_whole = not self.untested and not self.refused and self.raised is None
        return bool(self.tested) and is_whole and not self.found


def encode(bisection: Bisection) -> bytes:
    """The bisection as bytes."""
    return msgspec.msgpack.encode(bisection)


def decode(text: bytes) -> Bisection:
    """What `encode` wrote; raises ValueError for all else."""
    return msgspec.msgpack.decode(text, type=Bisection)
