"""The listings of every store that a client has to do with, as documents."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from fxls.ide.listing.document import Document
from fxls.ide.listing.freshness import Freshness
from fxls.ide.listing.recorded import Recorded, placed
from fxls.ide.text_document_content import (
    RevisionRow,
    Sheet,
    revisions_sheet,
    table_sheet,
)
from fxls.ide.workspace_symbols import Found, found_listings, found_nodes
from fxls.listing import Identity
from fxls.record import RevisionName
from fxls.said_once import SaidOnce
from fxls.serving.document_cache import DocumentCache, with_tables
from fxls.serving.file_digests import MAY_TAKE, Digests, modified
from fxls.serving.files_here import in_folders
from fxls.serving.made_first import note_reading, read_first
from fxls.serving.ownership import is_installed, project_of
from fxls.serving.run_guards import RunGuards
from fxls.serving.run_overviews import RunOverviews
from fxls.serving.run_records import Placed, RunRecords
from fxls.serving.settings import Settings
from fxls.serving.virtual_uris import (
    FORWARD,
    REVISIONS,
    TABLE,
    VIRTUAL,
    VirtualUris,
    is_whole,
)
from fxls.store import (
    Bookmark,
    Revision,
    Store,
    StoreError,
    class_name_of,
    is_url,
    prune_seldom,
)
from fxls.store.history import History, histories, newest_of, taken_place_of
from fxls.store.runs import Runs
from fxls.store.show_requests import ShowRequest, ShowRequests
from fxls.store_root import FOLDER

if TYPE_CHECKING:
    from fxls.store.following import Follower

__all__ = ["Library", "News"]

_LATEST = 200
"""So many revisions of an identity are listed."""


@dataclass(frozen=True, slots=True)
class News:
    """That there is another revision than the one that was the newest."""

    identity: Identity
    old: str
    new: str
    """The paths of the listings."""


class Library:
    """Stores by their folders, and the listings that were read from them.

    - `settings` may name a folder that holds all listings; else each source has a store.
    - `folders` are those of the workspace, in which files of another machine are found.
    - A store is known from when it is first asked for.
    """

    def __init__(
        self,
        settings: Callable[[], Settings] = Settings,
        folders: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._settings = settings
        self._folders = folders
        self._stores: dict[Path, Store] = {}
        self._uris = VirtualUris()
        self._documents = DocumentCache()
        self._bookmarks: dict[Path, Bookmark] = {}
        self._digests = Digests()
        self._were_files: dict[Path, frozenset[str]] = {}
        """Of revisions whose sources are gone: those that were files."""
        self._shown_in: dict[Path, ShowRequests] = {}
        self.heres: dict[Path, Callable[[str], str]] = {}
        """By the root of a copy, what gives the path here of a file of the other end."""
        self.records = RunRecords(self.say_unread)
        self.guards = RunGuards(self.say_unread, self.heres)
        self.overviews = RunOverviews(self.say_unread, self.heres)
        self._unread = SaidOnce()
        self._followers: dict[str, Follower] = {}
        """By URL, what keeps the copies of stores on other machines."""
        self._troubles: SimpleQueue[Exception] = SimpleQueue()
        """What keeps them from it; they find out in threads of their own."""

    def store_of(self, source: str) -> Store:
        """The store of a source."""
        root = self._settings().store_of(source)
        if root is not None and is_url(root):
            self._follow(root)
            root = None  # what is made here lies here
        if root is not None:
            return self.store_at(Path(root))
        return self.store_at(project_of(source, self._folders()) / FOLDER)

    def roots_of(self, source: str) -> tuple[Path, ...]:
        """The stores whose runs may have run a source: its own, and all copies."""
        return self.store_of(source).root, *self._copies()

    def store_in(self, folder: str) -> Store:
        """The store of the sources right in a folder."""
        return self.store_of(str(Path(folder, "any.py")))

    def asked(self) -> tuple[ShowRequest, ...]:
        """What programs asked to be shown since this was last asked."""
        found: list[ShowRequest] = []
        for root in self._stores:
            try:
                found += self._shown_in[root].asked()
            except StoreError as trouble:
                _warn(trouble)
        return tuple(found)

    def troubles(self) -> Iterator[str]:
        """Why stores on other machines cannot be read, since this was last asked."""
        while not self._troubles.empty():
            trouble = self._troubles.get()
            _warn(trouble)
            yield str(trouble)

    def close(self) -> None:
        """Follow no store on another machine any more, and leave the others small."""
        for follower in self._followers.values():
            follower.close()
        named = self._settings().stores
        for root in self._stores.keys() - self._copies():
            # What else was looked at may be any folder with a file of such a name.
            if root.name != FOLDER and str(root) not in named:
                continue
            with contextlib.suppress(StoreError):
                prune_seldom(root)

    def leave(self, folders: Iterable[str]) -> None:
        """Take the stores of folders that were closed for some nobody asked for."""
        kept = {self.store_in(folder).root for folder in self._folders()}
        for root in {self.store_in(folder).root for folder in folders} - kept:
            for known in (self._stores, self._bookmarks, self._shown_in):
                known.pop(root, None)

    def uri(self, root: Path, identity: Identity, name: str = FORWARD) -> str:
        """A virtual document about an identity: its newest listing, unless named."""
        self.store_at(root)
        return self._uris.uri(root, identity, name)

    def uri_about(self, document: Document, name: str = FORWARD) -> str:
        """A virtual document about the identity of a listing."""
        if document.path.startswith(VIRTUAL):
            return f"{document.path.rpartition('/')[0]}/{name}"
        return self.uri(Path(document.path).parent, document.listing.identity, name)

    def store_at(self, root: Path) -> Store:
        if root not in self._stores:
            self._open(root)
        return self._stores[root]

    def _open(self, root: Path, here: Callable[[str], str] | None = None) -> None:
        self._uris.add(root)
        store = self._stores[root] = Store(root, here=here, reading=note_reading)
        self._bookmarks[root] = store.changes_since(None).bookmark
        self._shown_in[root] = ShowRequests(root)

    def read(self, path: str) -> tuple[Document | None, StoreError | None]:
        """The listing at a path, or why there is none; two None for other files."""
        if class_name_of(Path(path)) is None:
            return None, None
        read = partial(self.store_at(Path(path).parent).read, Path(path))
        try:
            return with_tables(self._documents.read(path, read)), None
        except StoreError as error:
            return None, error

    def look(self, path: str) -> None:
        """Take note that a client opened a listing, and may set a breakpoint in it."""
        if class_name_of(Path(path)) is not None:
            self.store_at(Path(path).parent).look(Path(path))

    def about(self, source: str, expressions: set[str]) -> tuple[Document, ...]:
        """The newest listing of each identity with a source, and of each of the
        expressions that made another one of the same identity.

        What is installed is looked for in every store: projects share it.
        """
        found: dict[str, Document] = {}
        known = self._stores if is_installed(source) else self._copies()
        stores = (self.store_of(source), *map(self.store_at, tuple(known)))
        for store in dict.fromkeys(stores):
            self._find_about(source, expressions, store, found)
        return tuple(found.values())

    def _follow(self, url: str) -> None:
        """Keep a copy of the store at a URL."""
        if url not in self._followers:
            from fxls.store.following import Follower  # noqa: PLC0415 - few have one
            from fxls.store.remote import Mirror, copies, project_of  # noqa: PLC0415

            mirror = Mirror(url, copies())
            project = project_of(url)
            here = (
                partial(in_folders, self._folders, f"{project}/") if project else None
            )
            if here:
                self.heres[mirror.root] = here
            # First, so that all that comes is news.
            self._open(mirror.root, here)
            self._followers[url] = Follower(mirror, self._troubles.put)

    def _copies(self) -> tuple[Path, ...]:
        """The roots of the stores that are copies."""
        return tuple(follower.root for follower in self._followers.values())

    def _find_about(
        self,
        source: str,
        expressions: set[str],
        store: Store,
        found: dict[str, Document],
    ) -> None:
        read = partial(store.about, Path(source))
        for at, listing in read_first(("about", store.root, source), read):
            found[str(at)] = self._documents.keep(str(at), listing)
            others = expressions - {listing.entry}
            # A long source has a hundred entries, and is asked about with each key.
            revisions = store.revisions(listing.identity) if others else ()
            newest = {one.entry: one for one in revisions}
            for entry in newest.keys() & others:
                other = self._revision(store, newest[entry])
                if other is not None:
                    found.setdefault(other.path, other)

    def freshness(self, document: Document) -> Freshness:
        """What became of a listing: a newer one of the same entry, changed sources."""
        listing = document.listing
        if document.path.startswith(VIRTUAL):
            return Freshness()
        store = self.store_at(Path(document.path).parent)
        revision = newest_of(store, listing.identity, listing.entry)
        if revision is not None and str(revision.path) != document.path:
            newest = self._revision(store, revision)
            if newest is not None and newest.listing.text != listing.text:
                return Freshness(newest)
        return Freshness(changed=self._changed(document))

    def virtual(self, uri: str) -> Document | Sheet | None:
        """What a virtual document shows; None when nothing is known of its identity."""
        if RunGuards.is_uri(uri):
            return self.guards.sheet(self._stores, uri)
        store, identity, _ = self._named(uri)
        if store is None or identity is None:
            return None
        return self._shown(store, identity, uri.rpartition("/")[2], uri)

    def histories(self) -> Iterator[History]:
        """What all stores hold."""
        for store in self._stores.values():
            yield from histories(store)

    def forwards(self) -> Iterator[str]:
        """The virtual documents of what all stores hold."""
        for history in self.histories():
            yield self.uri(history.newest.path.parent, history.identity)

    def forwards_of(self, source: str) -> Iterator[str]:
        """The virtual documents of what all stores have of a source."""
        for root, store in [*self._stores.items()]:
            for revision in store.newest_about(Path(source)):
                yield self.uri(root, revision.identity)

    def history(self, path: str) -> History | None:
        """What there is of the identity of a listing, or of a virtual document."""
        store, identity, _ = self._named(path)
        if store is None or identity is None:
            return None
        return next((h for h in histories(store) if h.identity == identity), None)

    def record_lengths(self) -> Mapping[Path, Mapping[str, int]]:
        """How long the record of each run is, by store: what grew says more."""
        return {root: Runs(root, self.say_unread).sizes() for root in self._stores}

    def news_of_runs(self, lengths: Mapping[Path, Mapping[str, int]]) -> list[str]:
        """The runs that are new, or say more, since this was last asked."""
        news = self.records.news
        return [run for root, now in lengths.items() for run in news(root, now)]

    def say_unread(self, trouble: StoreError) -> None:
        """Log once what is wrong with a record."""
        if self._unread.is_first(str(trouble.path), str(trouble)):
            _warn(trouble)

    def roots_about(self, path: str | None) -> tuple[Path, ...]:
        """The stores with the runs of a listing or a source; of no file, all stores."""
        if path is None:
            return tuple(self._stores)
        is_listing = self.read(path)[0] is not None
        return (Path(path).parent,) if is_listing else self.roots_of(path)

    def recorded(self, document: Document) -> Recorded | None:
        """What the record of a run says of a listing; None where none names it."""
        identity = document.listing.identity
        root, name = Path(document.path).parent, Path(document.path).name
        if document.path.startswith(VIRTUAL):
            store, _, listing = self._named(document.path)
            newest = store.newest(identity) if store else None
            if store is None or newest is None:
                return None
            root, name = store.root, (listing or newest.path).name
        found = self.records.of(self.store_at(root), identity, name)
        return found and placed(found, document, partial(self.beside, document))

    def beside(self, document: Document, name: RevisionName) -> Document | None:
        """Another listing of the same store, with the facts that are named, if any are."""
        store, _, _ = self._named(document.path)
        if store is None or not store.owns(path := store.root / name.text):
            return None
        if not name.facts:
            return self.read(str(path))[0]
        with contextlib.suppress(StoreError):
            read = partial(store.read_named, name)
            return Document(str(path), read_first(("listing", path, name.facts), read))
        return None

    def made_by(self, history: History) -> Mapping[str, Placed]:
        """By the name of the text, what records say of the latest revisions."""
        root = history.newest.path.parent
        return self.records.made(self.store_at(root), history.revisions)

    def is_stale(self, revision: Revision) -> bool:
        """Whether a source of a revision changed since, or is gone."""
        written = {one: modified(one) for one in revision.sources}
        gone = {one for one, time in written.items() if time is None}
        if revision.path.parent in self._copies():
            gone.clear()
        if gone and not gone.isdisjoint(self._digested(revision)):
            return True
        # A listing is opened only where the date of a file says that it may be so.
        if all(t is None or t <= revision.time - MAY_TAKE for t in written.values()):
            return False
        document = self._revision(self.store_at(revision.path.parent), revision)
        return document is not None and bool(self._changed(document))

    def document_of(self, revision: Revision) -> Document | None:
        """A listing whose sources are on this machine; None when it cannot be read."""
        root = revision.path.parent
        if root in self._copies():
            return None
        return self._revision(self.store_at(root), revision)

    def delete(self, path: str) -> tuple[tuple[str, ...], StoreError | None]:
        """Delete a listing, or an identity by its virtual document.

        Returns the paths of what is gone, and why not all of it is.
        """
        store, identity, listing = self._named(path)
        try:
            if store is not None and listing is not None:
                store.delete(listing)
                return (str(listing),), None
            if store is not None and identity is not None and is_whole(path):
                return tuple(map(str, store.forget(identity))), None
        except StoreError as error:
            return (), error
        return (), None

    def write_table(self, document: Document, text: str) -> str | StoreError:
        """The path of a file with the table of a listing, for who reads files alone."""
        path = Path(document.path)
        try:
            return str(self.store_at(path.parent).write_table(path, text))
        except StoreError as error:
            return error

    def found(self, query: str, is_gone: Callable[[Revision], bool]) -> Iterator[Found]:
        """Listings by their names, but stale ones that are gone; nodes of those read."""
        for store in self._stores.values():
            # One look at the folder; asking for each identity is one at each log.
            lines = store.changes_since(None).revisions
            for line in {line.identity: line for line in lines}.values():
                for found in found_listings(query, [(line.identity, str(line.path))]):
                    is_there = os.path.exists(found.path)  # noqa: PTH110 - quicker
                    if is_there and not (self.is_stale(line) and is_gone(line)):
                        yield found
        yield from found_nodes(query, [*self._documents])

    def news(self) -> tuple[News, ...]:
        """What was written to the stores since this was last asked, by whomever."""
        found: dict[tuple[Identity, str], News] = {}
        for root, store in self._stores.items():
            changes = store.changes_since(self._bookmarks[root])
            self._bookmarks[root] = changes.bookmark
            for revision in changes.revisions:
                before = taken_place_of(store, revision)
                if before is not None:
                    old, new = str(before.path), str(revision.path)
                    found[revision.identity, old] = News(revision.identity, old, new)
                else:
                    path = str(revision.path)
                    news = News(revision.identity, path, path)
                    found.setdefault((revision.identity, path), news)
        return tuple(found.values())

    def _shown(
        self, store: Store, identity: Identity, name: str, uri: str
    ) -> Document | Sheet | None:
        if name == REVISIONS:
            return revisions_sheet(identity, self._rows(store, identity))
        revisions = store.revisions(identity)
        if name not in (FORWARD, TABLE):
            revisions = tuple(r for r in revisions if r.path.name == name)
        document = self._revision(store, revisions[-1]) if revisions else None
        if document is None or name == TABLE:
            return table_sheet(document) if document else None
        return with_tables(self._documents.keep(uri, document.listing))

    def _named(self, path: str) -> tuple[Store | None, Identity | None, Path | None]:
        """The store, identity and file of a listing; no file for a whole identity."""
        if not path.startswith(VIRTUAL):
            document = self.read(path)[0]
            if class_name_of(Path(path)) is None:
                return None, None, None
            identity = document.listing.identity if document else None
            return self.store_at(Path(path).parent), identity, Path(path)
        for store, identity in self._uris.named(path, [*self._stores.values()]):
            listing = store.root / path.rpartition("/")[2]
            return store, identity, listing if store.owns(listing) else None
        return None, None, None

    def _rows(self, store: Store, identity: Identity) -> Iterator[RevisionRow]:
        for revision in reversed(store.revisions(identity)[-_LATEST:]):
            nodes = revision.nodes
            if nodes is None:
                document = self._revision(store, revision)
                nodes = len(document.listing.nodes) if document else None
            path = str(revision.path)
            yield RevisionRow(path, revision.time, revision.entry, nodes)

    def _revision(self, store: Store, revision: Revision) -> Document | None:
        try:
            read = partial(store.read_revision, revision)
            return self._documents.read(str(revision.path), read, revision.facts)
        except StoreError:
            return None

    def _digested(self, revision: Revision) -> frozenset[str]:
        """The sources of a revision that were files; others were never there."""
        found = self._were_files.get(revision.path)
        if found is None:
            document = self._revision(self.store_at(revision.path.parent), revision)
            sources = document.listing.sources if document else ()
            found = frozenset(source.path for source in sources if source.digest)
            self._were_files[revision.path] = found
        return found

    def _changed(self, document: Document) -> tuple[str, ...]:
        """The sources of a listing that are not as they were."""
        found = {
            source.path: self._digests.of(source.path)
            for source in document.listing.sources
            if source.digest
        }
        if Path(document.path).parent in self._copies():
            # A source that is not on this machine says nothing of that on the other.
            found = {path: digest for path, digest in found.items() if digest}
        return tuple(
            source.path
            for source in document.listing.sources
            if found.get(source.path, source.digest) != source.digest
        )


def _warn(trouble: Exception) -> None:
    _log.warning("%s", trouble)


_log = logging.getLogger(__name__)
