"""The log of each identity: which revision it had, when, and made by whom.

A log is a file of JSON lines, only ever appended to, in `log/<slug>.jsonl`. Its order
is the order of what happened, whatever the clock said.

- A line says all that a list of identities needs, so that no sidecar is opened for it.
- A line that cannot be read counts as absent: one that a kill tore, and one of another
  format, which is reported.
- Of a long log the end is read, and so are the newest of many: that others are left out
  is reported.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fxls.encodable import encoded
from fxls.listing import Identity, Remark
from fxls.said_once import SaidOnce
from fxls.store import files
from fxls.store.errors import OtherFormat, StoreError
from fxls.store.names import is_digest, is_file_name, slug_of

__all__ = ["MOST", "SUFFIX", "Log", "Logs", "Revision", "revisions_in"]

_FORMAT = 1
SUFFIX = ".jsonl"

MOST = 1 << 20
"""So many bytes are read of a log: the latest two thousand revisions."""
_MOST_OF_ALL = 16 << 20
"""So many of all logs."""
_SHORTEST = 64
"""No line has fewer bytes: a log of line ends is a million lines."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One text that an identity had, with the facts it had last."""

    identity: Identity
    path: Path
    """The path of the text."""
    facts: str
    """The hash of the sidecar."""
    time: float
    """When the log got it, in seconds since 1970 by the writer's clock."""
    pid: int
    sources: tuple[str, ...]
    """The source files that origins point into."""
    entry: str | None
    nodes: int | None = None
    """How many nodes the listing has; None when the writer did not say."""
    program: str | None = None
    """The file of the program that ran; None when none did, or nobody said."""
    remarks: tuple[Remark, ...] = ()


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    format: int
    identity: Identity
    text: str
    facts: str
    time: float
    pid: int
    sources: tuple[str, ...] = ()
    entry: str | None = None
    nodes: int | None = None
    program: str | None = None
    remarks: tuple[Remark, ...] = ()


_encoder = msgspec.json.Encoder()


_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Format(msgspec.Struct):
    format: int


_PREFIX = b'{"format":%d,' % _FORMAT
"""What every line begins with that is written in this format."""


@dataclass(frozen=True, slots=True)
class Log:
    """What happened to one identity: at least one line, oldest first."""

    lines: tuple[Revision, ...]
    starts: tuple[int, ...]
    """Where in the file each line begins."""
    end: int
    """Where the last whole line ends."""
    sources: frozenset[str]
    """The source files of all lines."""

    def since(self, end: int) -> tuple[Revision, ...]:
        """The lines behind a place; all lines where the log is shorter than that."""
        at = bisect_left(self.starts, end) if end <= self.end else 0
        return self.lines[at:]


class Logs:
    """The logs of one store, kept in memory for as long as the files are unchanged."""

    def __init__(
        self,
        root: Path,
        report: Callable[[StoreError], None],
        here: Callable[[str], str] | None = None,
    ) -> None:
        """`here` gives the path on this machine of a source on that of the writers."""
        self._here = here
        self._root = root
        self._folder = root / "log"
        self._report = report
        self._kept: dict[str, tuple[files.Signature, Log | None]] = {}
        self._reported = SaidOnce()
        """Of which logs it was said that they have lines of another format."""

    def append(self, revision: Revision) -> None:
        """Add a revision, unless it is the one that the log ends with.

        Raises `Unwritable`.
        """
        path = self._path(revision)
        last = _decode(self._root, files.last_line(self._root, path))
        if not last or (last.path, last.facts) != (revision.path, revision.facts):
            self.append_always(revision)

    def append_always(self, revision: Revision) -> None:
        """Add a revision whose text was not there; raises `Unwritable`.

        Somebody may have seen the log's last line, and then that the text was deleted.
        """
        line = _Line(
            _FORMAT,
            revision.identity,
            revision.path.name,
            revision.facts,
            revision.time,
            revision.pid,
            revision.sources,
            revision.entry,
            revision.nodes,
            revision.program,
            revision.remarks,
        )
        text = encoded(line, _encoder.encode)
        files.append_line(self._root, self._path(revision), text)

    def delete(self, slug: str) -> None:
        """Forget an identity; raises `Unwritable`."""
        files.delete(self._root, self._folder / (slug + SUFFIX))

    def of(self, slug: str) -> Log | None:
        """The log of an identity; None when it says nothing."""
        path = self._folder / (slug + SUFFIX)
        try:
            signature = files.sign(path)
            return self._load(slug, signature) if signature else None
        except StoreError as error:
            self._report(error)
            return None

    def all(self) -> Mapping[str, Log]:
        """Every log that says anything, by slug."""
        try:
            signatures = files.signatures_in(self._root, self._folder)
        except StoreError as error:
            self._report(error)
            return {}
        found: dict[str, Log] = {}
        for name, signature in self._newest(signatures).items():
            slug = name.removesuffix(SUFFIX)
            if slug != name:
                try:
                    log = self._load(slug, signature)
                except StoreError as error:
                    self._report(error)
                else:
                    if log:
                        found[slug] = log
        return found

    def _newest(
        self, signatures: Mapping[str, files.Signature]
    ) -> Mapping[str, files.Signature]:
        """As many logs as are read, in the same order."""
        sizes = {name: min(one.size, MOST) for name, one in signatures.items()}
        if sum(sizes.values()) <= _MOST_OF_ALL:
            return signatures
        left = _MOST_OF_ALL
        newest: set[str] = set()
        for name in sorted(signatures, key=lambda name: -signatures[name].modified):
            left -= sizes[name]
            if left < 0:
                break
            newest.add(name)
        if self._reported.is_first("others"):
            problem = f"only the newest {len(newest)} of {len(sizes)} logs are read"
            advice = "Delete what is not needed, with `fxls prune`."
            self._report(StoreError(self._folder, problem, advice))
        return {name: one for name, one in signatures.items() if name in newest}

    def _path(self, revision: Revision) -> Path:
        return self._folder / (slug_of(revision.identity) + SUFFIX)

    def _load(self, slug: str, signature: files.Signature) -> Log | None:
        kept = self._kept.get(slug)
        if kept is None or kept[0] != signature:
            try:
                log = self._read(self._folder / (slug + SUFFIX), slug)
            except StoreError:
                # That is said once.
                self._kept[slug] = (signature, None)
                raise
            kept = self._kept[slug] = (signature, log)
        return kept[1]

    def _read(self, path: Path, slug: str) -> Log | None:
        before, log = files.read_end(self._root, path, MOST)
        if before and self._reported.is_first(slug):
            problem = f"only its last {MOST:,} bytes are read"
            self._report(StoreError(path, problem, "What came before is history."))
        for found in _other_formats(log):
            if self._reported.is_first(slug, found):
                self._report(OtherFormat.of(path, found, _FORMAT))
        starts: list[int] = []
        lines: list[Revision] = []
        identity: Identity | None = None
        for start, revision in _placed_revisions(self._root, log):
            # All lines of a log are about one, and its slug takes longer than the line.
            if revision.identity != identity:
                if slug_of(revision.identity) != slug:
                    continue
                identity = revision.identity
            if self._here is not None:
                sources = tuple(map(self._here, revision.sources))
                revision = replace(revision, sources=sources)
            starts.append(before + start)
            lines.append(revision)
        if not lines:
            return None
        end = before + log.rfind(b"\n") + 1
        sources = frozenset(path for line in lines for path in line.sources)
        return Log(tuple(lines), tuple(starts), end, sources)


def _other_formats(log: bytes) -> Iterator[int]:
    """The formats of the lines of a log that cannot be read for their format."""
    if log.count(b"\n") == log.count(_PREFIX):
        return
    for line in log.split(b"\n")[:-1]:
        if len(line) > _SHORTEST and not line.startswith(_PREFIX):
            with contextlib.suppress(*_UNREADABLE):
                found = msgspec.json.decode(line, type=_Format).format
                if found != _FORMAT:
                    yield found


def revisions_in(root: Path, log: bytes) -> Iterator[Revision]:
    """The lines of a log of the store at `root`, oldest first."""
    for _, revision in _placed_revisions(root, log):
        yield revision


def _placed_revisions(root: Path, log: bytes) -> Iterator[tuple[int, Revision]]:
    start = 0
    # The part behind the last line end is a line that is still being written.
    for line in log.split(b"\n")[:-1]:
        revision = _decode(root, line) if len(line) > _SHORTEST else None
        if revision is not None:
            yield start, revision
        start += len(line) + 1


def _decode(root: Path, data: bytes) -> Revision | None:
    try:
        line = msgspec.json.decode(data, type=_Line)
    except _UNREADABLE:
        return None
    if line.format != _FORMAT or not is_file_name(line.text):
        return None
    if not is_digest(line.facts):
        return None
    return Revision(
        line.identity,
        root / line.text,
        line.facts,
        line.time,
        line.pid,
        line.sources,
        line.entry,
        line.nodes,
        line.program,
        line.remarks,
    )
