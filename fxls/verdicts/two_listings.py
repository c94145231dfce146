"""What came of running two listings on the same inputs."""

from __future__ import annotations

import msgspec

from fxls.verdicts.comparison import Evidence, Where

__all__ = ["SCHEMA", "TwoListings"]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""


class TwoListings(msgspec.Struct, frozen=True):
    """Whether two listings compute the same of the same inputs."""

    graph: str
    """What people call it."""
    old: str
    new: str
    """The paths."""
    values: int = 0
    """How many nodes of both have values that were compared."""
    where: tuple[Where, ...] = ()
    """The nodes of the new one by which the first value is another one: that node, or
    those that it reads and that the old one does not have. Empty where all are alike, or
    where only an output is."""
    line: int = 0
    """The line of the first of them in the new listing, counted from one."""
    evidence: Evidence | None = None
    """None where nothing differs."""
    outputs: tuple[int, ...] = ()
    """Which of the outputs differ, counted from zero."""
    untold: tuple[str, ...] = ()
    """The nodes of which nobody can say."""
    why_not: str = ""
    """Why they could not be compared, as a clause."""
