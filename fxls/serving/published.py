"""What a client was told of each file, so that it is told nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fxls.ide.diagnostics import Diagnostic

__all__ = ["PublishedDiagnostics"]

_Said = tuple[Diagnostic, ...]


class PublishedDiagnostics:
    """The diagnostics of files as they were looked at last, each by a number.

    A file that was never looked at, or of which nothing is to be said, has none.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, _Said]] = {}
        self._latest = 0

    def note(self, path: str, said: _Said) -> bool:
        """Take what there is to say for what is known; whether it is something else."""
        before = self._known.get(path, (0, ()))[1]
        if said == before:
            return False
        self._latest += 1
        if said:
            self._known[path] = (self._latest, said)
        else:
            self._known.pop(path, None)
        return True

    def number(self, path: str) -> str:
        """By which a client names what it was told of a file."""
        known = self._known.get(path)
        return str(known[0]) if known else "none"

    def said(self, path: str) -> _Said:
        return self._known.get(path, (0, ()))[1]

    def forget(self, path: str) -> None:
        self._known.pop(path, None)

    def changed(self, told: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The files of which a client was told something else, or nothing.

        `told` are paths and numbers.
        """
        before = dict(told)
        for path in sorted({*before, *self._known}):
            if before.get(path, "none") != self.number(path):
                yield path
