"""What the server knows between requests: texts, documents, and what failed.

Knows files and the traces; knows no connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from fxls import regular_file
from fxls.entry import Entry, Kind
from fxls.ide.completion import doubts
from fxls.ide.diagnostics import (
    Diagnostic,
    Severity,
    diagnostics,
    doubtful,
    held_back,
    in_place,
    listing_diagnostics,
    remark_diagnostics,
)
from fxls.ide.entries import entries as ide_entries
from fxls.ide.listing.document import Destination, Document, Jump
from fxls.ide.listing.freshness import Freshness
from fxls.ide.listing.table_rows import rows
from fxls.ide.source.gone import is_gone
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.import_work import ImportWork, import_work
from fxls.ide.syntax.quoted_places import PlacesNow
from fxls.listing import Reason
from fxls.record.remarks import SourceRemark
from fxls.record.sizes import DataSize, InputSize
from fxls.regular_file import LISTING_BYTES, SETTINGS_BYTES, SOURCE_BYTES, why
from fxls.said_once import SaidOnce
from fxls.serving.file_digests import Digests
from fxls.serving.known_defects import KnownDefects
from fxls.serving.known_errors import KnownErrors
from fxls.serving.known_times import KnownTimes
from fxls.serving.library import Library
from fxls.serving.ownership import is_installed, project_of, workspace_folder_of
from fxls.serving.placed_sizes import placed_sizes
from fxls.serving.programs import AnsweredPrograms
from fxls.serving.run_remarks import RunRemarks
from fxls.serving.settings import Remarks, Settings
from fxls.serving.traced_texts import TracedTexts, decoded
from fxls.serving.tracing import Traces
from fxls.serving.tried_repairs import TriedRepairs
from fxls.store import (
    NotAListing,
    Revision,
    StoreError,
    class_name_of,
    real_path,
)
from fxls.text import LineTable, Span, line_table
from fxls.wire import Failed, Fitted, Traced, Tried

__all__ = ["Session"]

_log = logging.getLogger(__name__)


class Session:
    """The state of one client.

    - Questions are answered from the store and from open documents, at once, unless
      something has to be made first; only `trace` waits, and only there does code of the
      user's run.
    - `open_text` gives the text of a document that the client has open.
    """

    def __init__(
        self, settings: Settings, open_text: Callable[[str], str | None], traces: Traces
    ) -> None:
        self.settings = settings
        self.folders: tuple[str, ...] = ()
        """The folders of the workspace."""
        self._first: str | None = None
        """The project of the first source that was looked at, and is not installed."""
        self.library = Library(lambda: self.settings, lambda: self.folders)
        self.traces = traces
        self.programs = AnsweredPrograms()
        """What a person said of files that do work when they are imported."""
        self._remarks = RunRemarks(self.library.say_unread, self.library.heres)
        self.times = KnownTimes(self.library.say_unread, self.library.heres)
        self.errors = KnownErrors(self.library.say_unread, self.library.heres)
        self.tried = TriedRepairs(Digests().of)
        self._open_text = open_text
        self._said: dict[tuple[str, str], tuple[Diagnostic, ...]] = {}
        self._texts = TracedTexts()
        self._defects = KnownDefects()
        self.rows = lru_cache(maxsize=1)(rows)
        """The rows of a table; a page asks for each window that is scrolled into view.
        """
        self._checked: dict[str, int] = {}
        """Of sources: the hash of the text that was looked at last."""
        self._projects = lru_cache(maxsize=8)(ide_entries.project)
        self._entries = lru_cache(maxsize=8)(ide_entries.entries)
        self._unread = SaidOnce()
        """Of which files it was said why they are not read."""
        self._compared: dict[str, tuple[str, str, bool]] = {}
        """Of open listings: what is shown, what was written, whether that is the same."""

    def lines_of(self, path: str) -> LineTable | None:
        """The lines of a file as the user sees it; None when it cannot be read."""
        text = self.text_of(path)
        return None if text is None else line_table(text)

    def text_of(self, path: str) -> str | None:
        """The text that is open in the editor, else that on the disk."""
        text = self._open_text(path)
        if text is not None:
            return text
        is_listing = class_name_of(Path(path)) is not None
        content = self._content(path, LISTING_BYTES if is_listing else SOURCE_BYTES)
        return None if content is None else decoded(content)

    def document(self, path: str) -> Document | None:
        """The listing at a path; None when it is none, or not as it was written."""
        return self._read(path)[0]

    def is_listing(self, path: str) -> bool:
        """Whether a file is one of a store, also a damaged one."""
        document, error = self._read(path)
        return document is not None or not isinstance(error, NotAListing | None)

    def trouble(self, path: str) -> tuple[Diagnostic, ...]:
        """What keeps a file of the store from being shown as a listing."""
        error = self._read(path)[1]
        if error is None or isinstance(error, NotAListing):
            return ()
        message = f"{error.problem[:1].upper()}{error.problem[1:]}.\n{error.advice}"
        nowhere = Span.of(0, 0, 0, 0)
        return (Diagnostic(path, nowhere, Severity.WARNING, Reason.STORE, message),)

    def source(self, path: str) -> SourceFile:
        """A file of the user's with the newest listings about it."""
        expressions = {entry.expression for entry in self.entries(path)}
        # Thousands of listings name one file.
        written = cache(self._written)
        found = tuple(
            document
            for document in self.library.about(path, expressions)
            if not is_gone(document, written)
        )
        real = real_path(path)
        named = {one.path for document in found for one in document.listing.sources}
        spellings = frozenset(one for one in named if real_path(one) == real)
        text = self.text_of(path) or ""
        moves = {
            document.path: moved
            for document in found
            for source in document.listing.sources
            if source.path in {path, *spellings}
            if (moved := self._texts.moves(source.digest, text)) is not None
        }
        order = self.settings.producers
        return SourceFile(path, line_table(text), found, spellings, moves, order)

    def is_gone(self, revision: Revision) -> bool:
        """Whether what a stale revision was made of was renamed or deleted."""
        document = self.library.document_of(revision)
        return document is not None and is_gone(document, self._written)

    def _written(self, path: str) -> str | None:
        """The text of a source; of one that was deleted from its folder it is empty."""
        text = self.text_of(path)
        if text is None and Path(path).parent.is_dir() and not Path(path).exists():
            return ""
        return text

    def text_as_traced(self, document: Document) -> Callable[[str], str | None]:
        """The texts of sources as they were when a listing was made, if still known."""
        digests = {source.path: source.digest for source in document.listing.sources}

        def text_of(path: str) -> str | None:
            known = self._texts.get(digests.get(path, ""))
            return self.text_of(path) if known is None else known

        return text_of

    def moved(self, document: Document, jump: Jump) -> Jump:
        """A jump from a listing, to where its sources have the places after edits."""
        digests = {source.path: source.digest for source in document.listing.sources}

        def there(destination: Destination) -> Destination:
            path, span = destination.path, destination.focus
            text = self.text_of(path) if path in digests else None
            moves = self._texts.moves(digests.get(path, ""), text or "")
            now = moves.after(span) if moves else None
            return Destination(path, now, now) if now else destination

        return Jump(jump.span, tuple(map(there, jump.destinations)))

    def entries(self, path: str) -> tuple[Entry, ...]:
        """The entries of a source, as it is in the editor; none of what is installed."""
        if is_installed(path):
            return ()
        text = self.text_of(path) or ""
        return self._entries(text, path, self._project(path).entries)

    def check(self, path: str) -> tuple[str, ...]:
        """Look at the entries of a source without running it.

        Returns the paths whose diagnostics are others than before.
        """
        if is_installed(path):
            return self.forget(path)
        if self._first is None:
            self._first = str(project_of(path, self.folders))
        self._remember(path)
        self._checked[path] = hash(self.text_of(path))
        kept = {"", *(entry.name for entry in self.entries(path))}
        return (*self.check_comments(path), *self.forget(path, kept))

    def is_checked(self, path: str) -> bool:
        """Whether a source was looked at as it is in the editor."""
        return self._checked.get(path) == hash(self.text_of(path))

    def is_saved(self, path: str) -> bool:
        """Whether the editor shows what is on the disk."""
        content = self._content(path, SOURCE_BYTES)
        return content is not None and decoded(content) == self.text_of(path)

    def check_comments(self, path: str) -> tuple[str, ...]:
        """Look at what is written as entries of a source; returns as `check`.

        What is known of traces stays, because the file is being edited; but what was
        said of an entry that is not written any more stands on nothing.
        """
        if is_installed(path):
            return ()
        text = self.text_of(path) or ""
        failures = ide_entries.problems(text, path)
        said = [
            *in_place(failures, Kind.COMMENT),
            *in_place(self._project(path).problems, Kind.PROJECT),
        ]
        if not self.may_trace(path):
            # A trace says it better.
            said += doubtful(doubts(text, path))
        elif (work := self.work_unasked(path)) and self.entries(path):
            said += held_back(self.programs.failure(path, work))
        return (*self._say((path, ""), said), *self._unwritten(path))

    def may_trace(self, path: str) -> bool:
        """Whether the entries of a source may be run though nobody asked for it.

        Trust is given to a folder: what lies elsewhere is only read. A client that has
        none open gives it to the project of the first source that it shows.
        """
        if not self.settings.trusted or is_installed(path):
            return False
        trusted = self.folders or ((self._first,) if self._first else ())
        return any(Path(path).is_relative_to(folder) for folder in trusted)

    def work_unasked(self, path: str) -> ImportWork | None:
        """What the import of a source would do that nobody agreed to."""
        text = self.text_of(path)
        work = None if text is None else import_work(text)
        return self.programs.unasked(path, work, self.settings.programs)

    async def trace(self, entry: Entry, *, timed: bool = False) -> Traced | Failed:
        """Run an entry of the user's code and materialize its listing."""
        return await self.traces.trace(
            entry,
            python=self.settings.python_of(entry.path),
            folder=self._folder_of(entry.path),
            store=str(self.library.store_of(entry.path).root),
            time_limit=self.settings.time_limit,
            order=self.settings.producers,
            timed=timed,
        )

    async def try_change(self, entry: Entry, path: str, text: str) -> Tried | Failed:
        """Run an entry of the user's code with another text of a file."""
        return await self.traces.try_change(
            *(entry, path, text),
            python=self.settings.python_of(entry.path),
            folder=self._folder_of(entry.path),
            time_limit=self.settings.time_limit,
        )

    async def fit(self, entry: Entry, text: str) -> Fitted | Failed:
        """Look for example inputs that fit, as a call of the model says."""
        return await self.traces.fit(
            *(entry, text),
            python=self.settings.python_of(entry.path),
            folder=self._folder_of(entry.path),
            time_limit=self.settings.time_limit,
        )

    def settle(self, entry: Entry, outcome: Traced | Failed) -> tuple[str, ...]:
        """Take what became of an entry for what is known of it; returns as `check`."""
        for path in filter(self._is_own(entry.path), outcome.sources):
            self._remember(path)
        failed = isinstance(outcome, Failed)
        failure = outcome.failure if failed else outcome.trouble
        if failure is not None and failure.reason is Reason.STOPPED:
            return ()
        said = diagnostics(failure, entry, self._is_own(entry.path)) if failure else ()
        return self._say((entry.path, entry.name), said)

    def forget(self, path: str, kept: Collection[str] = ()) -> tuple[str, ...]:
        """Drop what was said about the entries of a source, except those kept.

        Returns as `check`.
        """
        about = [key for key in self._said if key[0] == path and key[1] not in kept]
        self._compared.pop(path, None)
        if not kept:
            self._checked.pop(path, None)
        self.traces.forget(path, kept)
        return tuple(changed for key in about for changed in self._say(key, ()))

    def leave(self, folders: Iterable[str]) -> tuple[str, ...]:
        """Drop what is known of folders that were closed; returns as `check`.

        Of files that are open all stays.
        """
        said: list[str] = []
        for folder in folders:
            for path in {about for about, _ in self._said}:
                if self._open_text(path) is None and Path(path).is_relative_to(folder):
                    said += self.forget(path)
        return tuple(said)

    def diagnostics(self, path: str) -> tuple[Diagnostic, ...]:
        """All there is to say about a file, each thing once."""
        found: dict[tuple[Span, str], Diagnostic] = {}
        about = [d for said in self._said.values() for d in said if d.path == path]
        # Of two entries that meet the same failure, the one that somebody wrote is first.
        for one in sorted(about, key=lambda one: _WORST_FIRST.index(one.severity)):
            found.setdefault((one.span, one.message), one)
        shown = (one for one in about if found[one.span, one.message] is one)
        remarks = (one for one, _ in self.problems(path))
        return (*self._of_listing(path), *shown, *remarks)

    def problems(
        self, path: str
    ) -> Iterator[tuple[Diagnostic, tuple[SourceRemark, Span]]]:
        """What is shown of the remarks in a source, each with the remark."""
        severity = _SEVERITIES.get(self.settings.remarks)
        if severity is None:
            return
        for one in self.remarks(path):
            for shown in remark_diagnostics(path, [one], severity):
                yield shown, one

    def remarks(self, path: str) -> tuple[tuple[SourceRemark, Span], ...]:
        """What is remarked in a source of the newest program, and where that is today."""
        if class_name_of(Path(path)) is not None or is_installed(path):
            return ()
        roots = self.library.roots_of(path)
        found = [one for root in roots for one in self._remarks.about(root, path)]
        text = self.text_of(path) if found else None
        if text is None:
            return ()
        now = PlacesNow(text, self._texts.get)
        return tuple(
            (one, span)
            for one in found
            if one.place is not None and (span := now.span(one.place)) is not None
        )

    def sizes(self, path: str) -> tuple[tuple[InputSize | DataSize, Span], ...]:
        """What the newest program says of sizes, and where each is written today."""
        if class_name_of(Path(path)) is not None or is_installed(path):
            return ()
        roots = self.library.roots_of(path)
        known = (self._remarks.sizes(root, path) for root in roots)
        found = next(filter(None, known), ())
        text = self.text_of(path) if found else None
        if text is None:
            return ()
        return placed_sizes(found, path, text, PlacesNow(text, self._texts.get))

    def look_at_runs(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded; whether it says anything else than before."""
        known = (self.times, self.errors, self._remarks)
        looked = [one.look(lengths) for one in known]  # each of them looks
        return any(looked)

    def failures(self, path: str) -> tuple[Diagnostic, ...]:
        """The diagnostics of a file that are failures, which fixes are made for."""
        return tuple(d for d in self.diagnostics(path) if d.failure is not None)

    def freshness(self, document: Document) -> Freshness:
        """What became of a listing since it was made."""
        found = self.library.freshness(document)
        gone = bool(found.changed) and is_gone(document, self._written)
        return Freshness(found.newest, found.changed, is_gone=gone)

    def _unwritten(self, path: str) -> tuple[str, ...]:
        """Drop what was said about entry comments that are gone; returns as `check`."""
        written = {entry.name for entry in self.entries(path)}
        gone = [
            about
            for about, (first, *_) in self._said.items()
            if about[0] == path and about[1] not in written
            if first.entry is not None and first.entry.kind is Kind.COMMENT and about[1]
        ]
        return tuple(changed for about in gone for changed in self._say(about, ()))

    def _of_listing(self, path: str) -> tuple[Diagnostic, ...]:
        """What an open listing says of itself."""
        if self._open_text(path) is None:
            return ()
        document = self.document(path)
        if document is None:
            return self.trouble(path)
        found = self._defects.of(document)
        return listing_diagnostics(document, self.freshness(document), found)

    def _remember(self, path: str) -> None:
        content = self._content(path, SOURCE_BYTES)
        if content is not None:
            self._texts.remember(content)

    def _content(self, path: str, most: int) -> bytes | None:
        try:
            return regular_file.read(path, most)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            if self._unread.is_first(path, str(error)):
                _log.warning("%.300r is not read: %s", path, why(error))
            return None

    def _read(self, path: str) -> tuple[Document | None, StoreError | None]:
        document, error = self.library.read(path)
        if document is None:
            return None, error
        if not self._is_as_written(path, document.listing.text):
            problem = "this is not the text that was generated"
            advice = "The file is never read back: close it without saving."
            return None, StoreError(Path(path), problem, advice)
        return document, None

    def _is_as_written(self, path: str, text: str) -> bool:
        """Whether the editor shows a listing as it was generated."""
        shown = self._open_text(path)
        if shown is None:
            return True
        known = self._compared.get(path)
        if known is None or known[0] is not shown or known[1] is not text:
            # Millions of characters, and asked for with every request.
            same = shown.replace("\r\n", "\n") == text
            known = self._compared[path] = (shown, text, same)
        return known[2]

    def _folder_of(self, path: str) -> str | None:
        """The folder that the code of a file runs in."""
        if (around := workspace_folder_of(path, self.folders)) is not None:
            return around
        return str(project_of(path, self.folders)) if self.folders else None

    def _project(self, path: str) -> ide_entries.Project:
        for folder in Path(path).parents:
            toml = str(folder / "pyproject.toml")
            text = self._open_text(toml)
            if text is None:
                content = self._content(toml, SETTINGS_BYTES)
                text = None if content is None else decoded(content)
            if text is not None:
                return self._projects(text, str(folder), toml)
        return ide_entries.Project()

    def _is_own(self, source: str) -> Callable[[str], bool]:
        """Whether a file is of the project of a source, and not installed in it."""
        project = project_of(source, self.folders)

        def is_own(path: str) -> bool:
            return Path(path).is_relative_to(project) and not is_installed(path)

        return is_own

    def _say(
        self, about: tuple[str, str], said: Iterable[Diagnostic]
    ) -> tuple[str, ...]:
        before = self._said.pop(about, ())
        after = tuple(said)
        if after:
            self._said[about] = after
        if before == after:
            return ()
        return tuple(dict.fromkeys(d.path for d in (*before, *after)))


_WORST_FIRST = [*Severity]

_SEVERITIES = {
    Remarks.HINT: Severity.HINT,
    Remarks.INFORMATION: Severity.NOTE,
    Remarks.WARNING: Severity.WARNING,
}
