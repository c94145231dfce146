"""The store: listings as immutable files, and the log of each identity.

What lies in the folder::

    .gitignore                        the store ignores itself
    Net_0123456789ab.py               a text, named by its hash
    facts/Net_0123456789ab/<hash>     one sidecar for each facts the text was made with
    log/<slug of the identity>.jsonl  what happened to an identity
    tmp/                              half-written files
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from fxls.listing import Identity, Listing
from fxls.listing.sidecar import encode
from fxls.record import RevisionName
from fxls.said_once import SaidOnce
from fxls.store import files
from fxls.store.bound import Bound
from fxls.store.errors import NotAListing, StoreError, Unwritable
from fxls.store.instances import Instances
from fxls.store.log import Log, Logs, Revision
from fxls.store.names import (
    digest_of,
    file_name,
    is_digest,
    is_file_name,
    real_path,
    slug_in,
    slug_of,
    table_path,
)
from fxls.store.pruning import delete_listing, look
from fxls.store.runs import FOLDER as RUNS
from fxls.store.show_requests import NAME as SHOWN
from fxls.store_root import FOLDER

__all__ = ["Bookmark", "Changes", "Store"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How many bytes of each log somebody has seen."""

    seen: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a store, oldest first for each identity, and where it stands."""

    revisions: tuple[Revision, ...]
    bookmark: Bookmark


def _warn(trouble: StoreError) -> None:
    _log.warning("%s", trouble)


class Store:
    """A folder of listings.

    - Making one touches nothing on disk.
    - Any number of stores, threads and processes may use one folder at once; there
      are no locks.
    - `report` gets the trouble that did not keep an answer from being given (a text
      that was written again, a sidecar that an older one stood in for), each once.
    """

    def __init__(
        self,
        root: Path,
        *,
        report: Callable[[StoreError], None] = _warn,
        here: Callable[[str], str] | None = None,
        program: str | None = None,
        reading: Callable[[int], None] | None = None,
    ) -> None:
        """`here` is for the copy of a store: it gives the path on this machine of a file
        on the one that wrote the listings, or the path itself. `program` is the file of
        the program that writes. `reading` hears how long each file of a listing is before
        it is read; what it raises is raised by whoever asked for the listing.
        """
        self._program = program
        self.root = Path(os.path.abspath(root))  # noqa: PTH100  # resolve() follows links
        self._report = report
        self._reported = SaidOnce()
        self._instances = Instances(self.root, report, self._report_once, here, reading)
        self._logs = Logs(self.root, self._report_once, here)
        self._spellings: dict[str, str] = {}
        self._named = ("", digest_of(b""))
        """The text that was asked for last, and its hash: it is asked for three times
        while a listing is made."""
        self._made: Callable[[Revision], None] | None = None
        self.bound = Bound(self.root)
        """Keeps the folder from growing beyond measure."""

    def tell(self, made: Callable[[Revision], None]) -> None:
        """Let somebody know of each listing that is materialized, also again."""
        self._made = made

    def path_of(self, class_name: str, text: str) -> Path:
        """Where a text belongs; whether it is there does not matter."""
        named = self._named
        if named[0] is not text:
            named = self._named = text, digest_of(text.encode())
        return self.root / file_name(class_name, named[1])

    def owns(self, path: Path) -> bool:
        """Whether a listing of this store has, or would have, this path."""
        if not is_file_name(path.name):
            return False
        return path.parent == self.root or _real(path.parent) == _real(self.root)

    def materialize(self, listing: Listing) -> Path:
        """Write a listing, unless it is there, and note it in the log.

        A text or a sidecar that is damaged is written again. Raises `Unwritable`;
        every listing that was there then still is.
        """
        try:
            path = self.path_of(listing.identity.class_name, listing.text)
            sidecar = encode(listing)
        except UnicodeEncodeError as error:
            raise Unwritable(
                self.root,
                f"cannot hold a listing of {listing.identity.qualname!a}: a name in it "
                f"is not Unicode, {error.object[error.start : error.end]!a}",
                "Rename the file or folder that has this character.",
            ) from error
        self.ignore()
        is_back = not files.is_there(path)
        written = self._instances.put(path, listing.text.encode(), sidecar)
        add = self._logs.append_always if is_back else self._logs.append
        revision = Revision(
            identity=listing.identity,
            path=path,
            facts=digest_of(sidecar),
            time=time.time(),
            pid=os.getpid(),
            sources=tuple(source.path for source in listing.sources),
            entry=listing.entry,
            nodes=len(listing.nodes),
            program=self._program,
            remarks=listing.remarks,
        )
        add(revision)
        if self._made is not None:
            self._made(revision)
        self.bound.wrote(written)
        return path

    def write_text(self, class_name: str, text: str) -> Path:
        """Write a text whose facts come later, unless it is there.

        Until `materialize` is called nobody is told of it, and `read` says that its
        facts are missing. Raises `Unwritable`.
        """
        path = self.path_of(class_name, text)
        self.ignore()
        self.bound.wrote(self._instances.put_text(path, text.encode()))
        return path

    def write_table(self, path: Path, text: str) -> Path:
        """Write the table of a listing beside it; raises as `delete` does."""
        table = table_path(self.root, self._own(path).name)
        files.write(self.root, table, text.encode(errors="backslashreplace"))
        return table

    def read(self, path: Path) -> Listing:
        """The newest instance of a listing.

        Raises `NotAListing`, `Damaged` or `Unreadable`. When the newest sidecar is
        damaged an older one of the same text serves, and the damage is reported.
        """
        return self._instances.newest(self._own(path))

    def read_if_whole(self, path: Path) -> Listing | None:
        """As `read`; None for what it would raise for."""
        try:
            return self.read(path)
        except StoreError:
            return None

    def has_facts(self, path: Path) -> bool:
        """Whether any facts of a listing may be there: for new ones no read is needed."""
        return self._instances.has_any(path)

    def count_instances(self, path: Path) -> int:
        """How many instances of a listing there may be; raises as `read` does."""
        return self._instances.count(self._own(path))

    def instances(self, path: Path) -> tuple[Listing, ...]:
        """Every instance of a listing, newest first: the same text with other facts.

        Raises as `read` does.
        """
        return self._instances.all(self._own(path))

    def read_revision(self, revision: Revision) -> Listing:
        """The instance with the facts of this revision; raises as `read` does."""
        return self._instances.one(self._own(revision.path), revision.facts)

    def read_named(self, name: RevisionName) -> Listing:
        """The instance that a record names; the newest of its text where it names none.

        Raises as `read` does.
        """
        path = self._own(self.root / name.text)
        if not name.facts:
            return self._instances.newest(path)
        if not is_digest(name.facts):
            # A record that a folder brought may name any file of the machine.
            raise NotAListing(
                path, "has no facts of such a name", "Run the program again."
            )
        return self._instances.one(path, name.facts)

    def identities(self) -> tuple[Identity, ...]:
        """Every identity that has a revision in the store, by name."""
        newest = [_newest(log) for log in self._logs.all().values()]
        return tuple(line.identity for line in sorted(filter(None, newest), key=_name))

    def identity_of(self, uri: str) -> Identity | None:
        """The identity whose `identity_uri` this is; None when the store never had it."""
        slug = slug_in(uri)
        log = self._logs.of(slug) if slug else None
        return log.lines[-1].identity if log else None

    def revisions(self, identity: Identity) -> tuple[Revision, ...]:
        """The revisions of an identity, oldest first.

        Those whose text was deleted are left out; a text that came back later is a
        revision again.
        """
        return tuple(self.latest(identity))[::-1]

    def latest(self, identity: Identity) -> Iterator[Revision]:
        """`revisions` from the newest on; each is looked for when it is asked for."""
        log = self._logs.of(slug_of(identity))
        lines = reversed(log.lines) if log else ()
        for _, run in groupby(lines, attrgetter("path")):
            revision = next(run)
            if _is_there(revision):
                yield revision

    def newest(self, identity: Identity) -> Revision | None:
        """The last of `revisions`; None when there is none."""
        log = self._logs.of(slug_of(identity))
        return _newest(log) if log else None

    def look(self, path: Path) -> None:
        """Take note that somebody looks at a listing, which stays for a day then."""
        if self.owns(path):
            look(self.root, path.name)

    def delete(self, path: Path) -> None:
        """Delete a listing, of whichever identities it is a revision.

        Raises `NotAListing` or `Unwritable`.
        """
        delete_listing(self.root, self._own(path).name)

    def forget(self, identity: Identity) -> tuple[Path, ...]:
        """Delete an identity, and those of its listings that are no other's.

        Returns the paths of these, oldest first. Raises `Unwritable`.
        """
        logs = dict(self._logs.all())
        own = logs.pop(slug_of(identity), None)
        others = {line.path for log in logs.values() for line in log.lines}
        found = dict.fromkeys(line.path for line in own.lines) if own else {}
        # First, so that nobody is told of a listing that is gone.
        self._logs.delete(slug_of(identity))
        gone = tuple(
            path for path in found if path not in others and files.is_there(path)
        )
        for path in gone:
            delete_listing(self.root, path.name)
        return gone

    def about(self, source: Path) -> tuple[tuple[Path, Listing], ...]:
        """The newest listing of each identity that has this file as a source, by name,
        each with its path.

        One that cannot be read is reported and left out.
        """
        found: list[tuple[Path, Listing]] = []
        for revision in self.newest_about(source):
            try:
                listing = self._instances.one(revision.path, revision.facts)
            except StoreError as trouble:
                self._report_once(trouble)
            else:
                found.append((revision.path, listing))
        return tuple(found)

    def newest_about(self, source: Path) -> tuple[Revision, ...]:
        """The same as revisions, without reading a listing."""
        wanted = _real(source)
        # Asked of the whole log first, because that costs no look at the disk.
        logs = [log for log in self._logs.all().values() if self._names(log, wanted)]
        return tuple(
            revision
            for revision in sorted(filter(None, map(_newest, logs)), key=_name)
            if any(self._spelling(path) == wanted for path in revision.sources)
        )

    def changes_since(self, bookmark: Bookmark | None) -> Changes:
        """What the logs say that they did not say at `bookmark`; None is the beginning.

        Costs one stat for each identity: cheap enough to ask every second.
        """
        seen: Mapping[str, int] = bookmark.seen if bookmark else {}
        logs = self._logs.all()
        revisions: list[Revision] = []
        for slug, log in logs.items():
            revisions += log.since(seen.get(slug, 0))
        ends = {slug: log.end for slug, log in logs.items()}
        return Changes(tuple(revisions), Bookmark(ends))

    def _own(self, path: Path) -> Path:
        """The path as this store spells it."""
        if not self.owns(path):
            raise NotAListing(
                path,
                f"is not a listing of the store {self.root}",
                "Listings lie in that folder and are called <Class>_<hash>.py.",
            )
        return path if path.parent == self.root else self.root / path.name

    def _names(self, log: Log, source: str) -> bool:
        return any(self._spelling(path) == source for path in log.sources)

    def _spelling(self, source: str) -> str:
        if source not in self._spellings:
            self._spellings[source] = _real(source)
        return self._spellings[source]

    def ignore(self) -> None:
        """Hide the store from git, unless the folder holds anything else as well."""
        path = self.root / ".gitignore"
        if files.is_there(path):
            return
        ours = ("facts", "log", "tables", RUNS, SHOWN, files.TEMPORARY)
        # What keeps this from being written keeps the listing from it too, and that
        # is what the user needs to hear of.
        with contextlib.suppress(StoreError):
            if self.root.name == FOLDER or all(
                name in ours or is_file_name(name)
                for name in files.names_in(self.root, self.root)
            ):
                files.write(self.root, path, b"*\n")

    def _report_once(self, trouble: StoreError) -> None:
        if self._reported.is_first(str(trouble)):
            self._report(trouble)


def _real(path: Path | str) -> str:
    """A path as the file system spells it, to compare two spellings."""
    return os.path.normcase(real_path(path))


def _is_there(revision: Revision) -> bool:
    return files.is_there(revision.path)


def _newest(log: Log) -> Revision | None:
    return next(filter(_is_there, reversed(log.lines)), None)


def _name(revision: Revision) -> tuple[str, str, str, str, int]:
    identity = revision.identity
    rank = -1 if identity.rank is None else identity.rank
    return (
        identity.module,
        identity.qualname,
        identity.producer,
        identity.stage,
        rank,
    )
