"""What a person said of files that do the work of a program when they are imported."""

from __future__ import annotations

from pathlib import PurePath

from fxls.ide.syntax.import_work import ImportWork
from fxls.listing import Failure, Place, Reason
from fxls.serving.settings import Programs

__all__ = ["AnsweredPrograms"]

_ADVICE = (
    'Put what runs the program under `if __name__ == "__main__":`, or ask for the'
    " trace yourself."
)


class AnsweredPrograms:
    """Remembers of each file the statement that was asked about, and the answer.

    Another edit of the file changes nothing about the answer; another such statement
    is another question.
    """

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()
        self._allowed: set[tuple[str, str]] = set()

    def unasked(
        self, path: str, work: ImportWork | None, setting: Programs
    ) -> ImportWork | None:
        """The work of a file, where nobody agreed to it."""
        if setting is Programs.RUN or work is None:
            return None
        return None if (path, work.text) in self._allowed else work

    def is_first(self, path: str, work: ImportWork) -> bool:
        """Whether nobody was asked yet; from now on somebody was."""
        is_first = (path, work.text) not in self._asked
        self._asked.add((path, work.text))
        return is_first

    def allow(self, path: str, work: ImportWork) -> None:
        """A person agreed."""
        self._allowed.add((path, work.text))

    def failure(self, path: str, work: ImportWork) -> Failure:
        """Why the file is not traced unasked."""
        name = PurePath(path).name
        message = f"{name} {work.does} when it is imported, so it is not traced unasked"
        place = Place(path, "<module>", work.span)
        return Failure(Reason.IMPORT, message, (place,), _ADVICE)
