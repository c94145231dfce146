"""What would repair a failure, as values: noted by whoever finds out what failed."""

from __future__ import annotations

import msgspec

__all__ = ["Capture", "Evaluate", "GiveArguments", "Rename", "Repair", "Wrap"]


class Wrap(msgspec.Struct, frozen=True, tag="wrap"):
    """Record each call of a function as one node."""

    function: str


class Evaluate(msgspec.Struct, frozen=True, tag="evaluate"):
    """Trace the model for evaluation."""


class GiveArguments(msgspec.Struct, frozen=True, tag="arguments"):
    """Give a class, or a function, the arguments that it needs."""

    callee: str


class Capture(msgspec.Struct, frozen=True, tag="capture"):
    """Let another producer capture the model."""

    producer: str
    """As an entry names it: ``export``."""


class Rename(msgspec.Struct, frozen=True, tag="rename"):
    """Write the name that was meant."""

    wrong: str
    meant: str


Repair = Wrap | Evaluate | GiveArguments | Capture | Rename
