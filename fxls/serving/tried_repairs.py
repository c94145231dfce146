"""What is known of repairs that were tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fxls.entry import Entry
from fxls.ide.edits.fix import Fix, applied, moved
from fxls.listing import source_digest
from fxls.record import Subject
from fxls.text import Span
from fxls.wire import Problem, Tried

__all__ = ["Trial", "TriedRepairs", "comes_to"]

_MOST = 512
_ERROR = Subject.ERROR.value


@dataclass(frozen=True, slots=True)
class Trial:
    """A repair of a problem that was tried with an entry."""

    fix: Fix
    text: str
    """The text of its file without it."""
    span: Span
    """Where the problem is in that text."""
    before: Tried
    """What came of the text as it is."""
    outcome: Tried

    @property
    def holds(self) -> bool:
        """Whether the problem is gone, no other one came, and all else is as in eager."""
        one = self.outcome
        return one.raised is None and not one.differences and not self._new

    @property
    def said(self) -> str:
        """What came of it, in a few words."""
        one, here = self.outcome, self._moved(self.span)
        was = {
            each.subject
            for each in self.before.problems
            if _is_at(each, self.fix.path, self.span)
        }
        # What an export cannot know is raised; what ends a graph is not.
        if one.raised is not None and _ERROR not in was:
            where = (new.written for new in self._new if new.subject == _ERROR)
            at = next((f", at {written}" for written in where if written), "")
            return f"tried: {one.raised}{at}"
        if any(self._is_still(new, here) for new in self._new):
            return "tried: the problem is still there"
        if one.differences:
            gone = "" if self._new else "the problem is gone, with "
            differing = " and ".join(one.differences)
            return f"tried: {gone}other {differing} than in eager"
        for new in self._new:
            at = f" at {new.written}" if new.written else ""
            return f"tried: the problem is gone, and there is another one{at}"
        if one.raised is not None:
            return f"tried: {one.raised}"
        return "tried: the problem is gone, and all is as in eager"

    def _is_still(self, new: Problem, here: Span) -> bool:
        """Whether a problem is the one that was to be repaired, or one in its place.

        A branch on what was taken out of a tensor before is another one.
        """
        at = new.place
        ids = [
            each.id
            for each in self.before.problems
            if _is_at(each, self.fix.path, self.span)
        ]
        is_wider = at is not None and at.span != here and at.span.encloses(here)
        return _is_at(new, self.fix.path, here) and (new.id in ids or not is_wider)

    @property
    def _new(self) -> list[Problem]:
        """The problems behind the change, but for those that are not to be repaired."""
        others = {
            self._key(one, is_moved=True)
            for one in self.before.problems
            if not _is_at(one, self.fix.path, self.span)
        }
        return [one for one in self.outcome.problems if self._key(one) not in others]

    def _key(self, one: Problem, *, is_moved: bool = False) -> object:
        place = one.place
        if place is None:
            return one.subject, one.id
        is_here = is_moved and place.path == self.fix.path
        span = self._moved(place.span) if is_here else place.span
        return one.subject, one.id, place.path, span

    def _moved(self, span: Span) -> Span:
        return moved(self.fix, self.text, span)


def comes_to(outcome: Tried, path: str, span: Span) -> bool:
    """Whether the compiler had a problem at a place."""
    return any(_is_at(one, path, span) for one in outcome.problems)


class TriedRepairs:
    """What came of entries with the text that a repair makes of a file.

    An edit makes them unknown, and so does a change of a file that was imported.
    """

    def __init__(self, digest_of: Callable[[str], str]) -> None:
        """`digest_of` says what a file holds."""
        self._digest_of = digest_of
        self._known: dict[tuple[str, str], dict[Entry, _Known]] = {}

    def of(self, fix: Fix, text: str, span: Span) -> Trial | None:
        """The trial of a repair of the problem at this span of a file with this text."""
        known = self._known.get(_key(fix.path, applied(fix, text)), {})
        for before, outcome, sources in known.values():
            trial = Trial(fix, text, span, before, outcome)
            is_as_then = sources == {one: self._digest_of(one) for one in sources}
            if is_as_then and comes_to(before, fix.path, span):
                return trial
        return None

    def note(self, entry: Entry, trial: Trial) -> None:
        sources = {one: self._digest_of(one) for one in trial.outcome.sources}
        key = _key(trial.fix.path, applied(trial.fix, trial.text))
        known = self._known.setdefault(key, {})
        known[entry] = trial.before, trial.outcome, sources
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def clear(self) -> None:
        """Forget all: another Python may say something else."""
        self._known.clear()


_Known = tuple[Tried, Tried, Mapping[str, str]]
"""What came of a file as it is, and as a repair makes it; and the files that were
imported, with what they held.
"""


def _is_at(one: Problem, path: str, span: Span) -> bool:
    at = one.place
    return at is not None and at.path == path and at.span.meets(span)


def _key(path: str, text: str) -> tuple[str, str]:
    return path, source_digest(text.encode("utf-8", "surrogatepass"))
