"""What came of comparing a program with the values that it had elsewhere.

It crosses from the process of the program to the command line, as MessagePack.
"""

from __future__ import annotations

import enum

import msgspec

from fxls.verdicts.comparison import Evidence, Unseen, Where

__all__ = [
    "SCHEMA",
    "Agreement",
    "Difference",
    "Environment",
    "OfRanks",
    "OtherInput",
    "RankDifference",
    "Side",
    "decode",
    "encode",
]

SCHEMA = 1
"""The version of the object; another number means that a key has another meaning."""


class Side(enum.StrEnum):
    """Whose value is further away from what float64 gives."""

    HERE = "here"
    THERE = "there"


class Environment(msgspec.Struct, frozen=True):
    """What computed values."""

    torch: str
    python: str
    devices: tuple[str, ...]
    """Of the inputs of its graphs, each once."""


class Difference(msgspec.Struct, frozen=True):
    """A node that computes something else here, of the same inputs."""

    compilation: str
    stage: str
    """The graph, as `fxls list` names it."""
    where: Where
    side: Side | None
    """None where the values have other shapes or types, which float64 says nothing of."""
    evidence: Evidence
    """Of the value of that side; `usual` is the distance of the other one."""


class OtherInput(msgspec.Struct, frozen=True):
    """An input that a graph does not have as it had it there."""

    compilation: str
    stage: str
    name: str
    off: float
    """The largest distance of two elements; infinite where the shapes differ."""


class Agreement(msgspec.Struct, frozen=True):
    """What was kept of a program, or how what was kept agrees with what it has here."""

    schema: int
    here: Environment
    there: Environment | None
    """None where values were kept, and none compared."""
    graphs: int
    """How many graphs were kept, or compared."""
    values: int
    """How many values of nodes were."""
    differences: tuple[Difference, ...] = ()
    """In the order in which the graphs compute them."""
    inputs: tuple[OtherInput, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    raised: str | None = None
    """What the program ended with, where that was an error."""
    refused: str = ""
    """Why the file can be neither read nor written, as a clause."""


class RankDifference(msgspec.Struct, frozen=True):
    """A node that should have the same value in two ranks, and has not."""

    compilation: str
    stage: str
    """The graph, as `fxls list` names it."""
    node: str
    target: str
    place: str
    """``train.py:14:15``; empty where nothing is known."""
    reason: str
    """Why it should be the same."""
    sides: str = ""
    """What both ranks have where they differ most."""


class OfRanks(msgspec.Struct, frozen=True):
    """How the values of two ranks agree that should be the same."""

    differences: tuple[RankDifference, ...] = ()
    """The first of each graph."""
    graphs: int = 0
    values: int = 0
    """How many were compared."""
    alone: tuple[str, ...] = ()
    """The graphs that one rank has and the other has not."""
    refused: str = ""
    """Why a file cannot be read, as a clause."""


def encode(agreement: Agreement) -> bytes:
    """The agreement as bytes."""
    return msgspec.msgpack.encode(agreement)


def decode(text: bytes) -> Agreement:
    """What `encode` wrote; raises ValueError for all else."""
    return msgspec.msgpack.decode(text, type=Agreement)
