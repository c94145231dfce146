"""What is known of repairs that were tried."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from fxls.entry import Entry
from fxls.wire import Tried

__all__ = ["Trial", "TriedRepairs"]

_MOST = 512


@dataclass(frozen=True, slots=True)
class Trial:
    """A repair that was tried with an entry."""

    entry: Entry
    before: int
    """How many problems the compiler had without it."""
    outcome: Tried

    @property
    def holds(self) -> bool:
        """Whether there are fewer problems, and all else is as in eager."""
        one = self.outcome
        return one.raised is None and not one.differences and self.is_fewer

    @property
    def is_fewer(self) -> bool:
        return self.outcome.problems < self.before

    @property
    def said(self) -> str:
        """What came of it, in a few words."""
        one = self.outcome
        if one.raised is not None:
            return f"tried: {one.raised}"
        if one.differences:
            return f"tried: other {' and '.join(one.differences)} than in eager"
        if not self.is_fewer:
            return "tried: there is as much that cannot be compiled"
        return "tried: the problem is gone, and all is as in eager"


class TriedRepairs:
    """By the file and the text that a repair makes of it: an edit makes them unknown."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Trial] = OrderedDict()

    def of(self, path: str, text: str) -> Trial | None:
        return self._known.get((path, text))

    def note(self, path: str, text: str, trial: Trial) -> None:
        self._known[path, text] = trial
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
