"""What is known of repairs that were tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fxls.entry import Entry
from fxls.listing import source_digest
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
    """By the file and the text that a repair makes of it.

    An edit makes them unknown, and so does a change of a file that was imported.
    """

    def __init__(self, digest_of: Callable[[str], str]) -> None:
        """`digest_of` says what a file holds."""
        self._digest_of = digest_of
        self._known: dict[tuple[str, str], tuple[Trial, Mapping[str, str]]] = {}

    def of(self, path: str, text: str) -> Trial | None:
        known = self._known.get(_key(path, text))
        if known is None:
            return None
        trial, sources = known
        is_as_then = sources == {one: self._digest_of(one) for one in sources}
        return trial if is_as_then else None

    def note(self, path: str, text: str, trial: Trial) -> None:
        sources = {one: self._digest_of(one) for one in trial.outcome.sources}
        self._known[_key(path, text)] = trial, sources
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def clear(self) -> None:
        """Forget all: another Python may say something else."""
        self._known.clear()


def _key(path: str, text: str) -> tuple[str, str]:
    return path, source_digest(text.encode("utf-8", "surrogatepass"))
