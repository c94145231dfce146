"""What came of faults that chance planted: right, harmless, open and wrong answers."""

from __future__ import annotations

from typing import NamedTuple

from fxls.verdicts.comparison import Fault

__all__ = ["Planted", "Tally", "is_named"]


class Planted(NamedTuple):
    what: str
    nodes: tuple[str, ...]
    """Those that are altered, gone, or made."""


class Tally:
    """What came of all planted faults."""

    def __init__(self) -> None:
        self.right = self.harmless = 0
        self.open: list[object] = []
        self.wrong: list[object] = []

    @property
    def count(self) -> int:
        return self.right + self.harmless + len(self.open) + len(self.wrong)

    def take(
        self, case: object, first: Fault | None, off: float, *, is_right: bool
    ) -> None:
        """Count a case by the first fault that is named, None where nobody is."""
        if first is not None and is_right:
            self.right += 1
        elif first is not None:
            self.wrong.append((case, off, first))
        elif off < 1e-4:
            # Too small to tell from rounding, or in what nobody reads.
            self.harmless += 1
        else:
            self.open.append((case, off))


def is_named(fault: Fault, planted: Planted) -> bool:
    """Whether it is a fault of these nodes, or of some of them, and of no other."""
    named = {one.node for one in fault.where}
    return bool(named) and named <= {*planted.nodes}
