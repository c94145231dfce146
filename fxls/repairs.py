"""What would repair a failure, as values: noted by whoever finds out what failed."""

from __future__ import annotations

import msgspec

__all__ = ["Capture", "Check", "Evaluate", "GiveArguments", "Rename", "Repair", "Wrap"]


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


class Check(msgspec.Struct, frozen=True, omit_defaults=True, tag="check"):
    """Tell torch.export of a number, at the innermost place, what a run will show."""

    conditions: tuple[str, ...] = ()
    """Of which one holds, in the names of the source; empty where torch names none."""
    is_tensor: bool = False
    """Whether the value is in a tensor, so that no check of a number can tell."""


Repair = Wrap | Evaluate | GiveArguments | Capture | Rename | Check
