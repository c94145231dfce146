"""The instances of a text: one sidecar for each facts that it was made with.

A sidecar is named by the hash of its bytes, in `facts/<name of the text>/`. It is
touched whenever its listing is materialized, so the modification times say which
instance is the newest, and for how long nobody wanted the others.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from fxls.listing import Listing, ToLine
from fxls.listing.sidecar import SidecarError, decode
from fxls.store import files
from fxls.store.errors import Damaged, NotAListing, StoreError, Unreadable, Unwritable
from fxls.store.kept_listings import Kept, KeptListings
from fxls.store.names import digest_in, digest_of

__all__ = ["Instances"]

_AGAIN = "Run your program or `fxls trace` again to write it again"


class Instances:
    """The texts and sidecars of one store.

    What was read stays in memory for as long as its files are unchanged.
    """

    def __init__(
        self,
        root: Path,
        rewrote: Callable[[StoreError], None],
        served: Callable[[StoreError], None],
        here: Callable[[str], str] | None = None,
        reading: Callable[[int], None] | None = None,
    ) -> None:
        """`rewrote` hears of damage that was repaired, `served` of damage that was
        got around; `here` gives the path on this machine of a file on that of the writers;
        `reading` hears how long each file is before it is read, and may raise.
        """
        self._reading = reading
        self._here = here
        self._root = root
        self._rewrote = rewrote
        self._served = served
        self._texts: dict[str, tuple[files.Signature, str]] = {}
        self._kept = KeptListings()
        self._facts = root / "facts"

    def put(self, path: Path, text: bytes, sidecar: bytes) -> int:
        """Write what is not there, and make this instance the newest of its text.

        Returns how many bytes that took. The text goes last, so that there is never a
        text without facts. Raises `Unwritable`.
        """
        folder = self._folder(path)
        facts = folder / digest_of(sidecar)
        try:
            found = files.signatures_in(self._root, folder).values()
            dates = [at.modified + 1000 for at in found]
        except Unreadable as error:
            raise Unwritable(error.path, error.problem, error.advice) from error
        # Later than every other instance, even when the clock was set back.
        stamp = max([time.time_ns(), *dates])
        written = 0
        # In a store that may only be read the instances keep their order.
        is_there = self._content(facts) == sidecar
        touched = is_there
        if is_there:
            with contextlib.suppress(OSError):
                touched = files.touch(self._root, facts, stamp)
        if not touched:
            files.write(self._root, facts, sidecar, modified=stamp)
            written = len(sidecar)
        return written + self.put_text(path, text)

    def put_text(self, path: Path, text: bytes) -> int:
        """Write a text, unless it is there as it should be; raises `Unwritable`.

        Returns how many bytes that took.
        """
        # One look, because another writer may put the text there at any moment.
        held = self._content(path)
        if held == text:
            return 0
        files.write(self._root, path, text)
        if held is not None:
            self._rewrote(
                Damaged(
                    path,
                    "was edited by hand or damaged",
                    "It was written again; a debugger or editor that shows the "
                    "edited text must open it again.",
                )
            )
        return len(text)

    def has_any(self, path: Path) -> bool:
        """Whether there is any sidecar of a text, good or not."""
        return files.is_there(self._folder(path))

    def count(self, path: Path) -> int:
        """How many sidecars of a text there are, good or not; raises `Unreadable`."""
        return len(files.names_in(self._root, self._folder(path)))

    def all(self, path: Path) -> tuple[Listing, ...]:
        """The good instances of a text, newest first.

        Raises as `newest` does; with one good instance the damage of others is
        reported.
        """
        text = self._text(path)
        found: list[Listing] = []
        troubles: list[StoreError] = []
        for facts in self._newest_first(path):
            try:
                found.append(self._decode(path, text, facts.name))
            except StoreError as trouble:
                troubles.append(trouble)
        if not found and troubles:
            raise troubles[0]
        for trouble in troubles:
            self._served(trouble)
        return tuple(found)

    def newest(self, path: Path) -> Listing:
        """The newest good instance of a text; damage of newer ones is reported.

        Raises `NotAListing`, `Damaged` or `Unreadable`.
        """
        text = self._text(path)
        troubles: list[StoreError] = []
        for facts in self._newest_first(path):
            try:
                listing = self._decode(path, text, facts.name)
            except StoreError as trouble:
                troubles.append(trouble)
                continue
            for trouble in troubles:
                self._served(trouble)
            return listing
        raise troubles[0]

    def one(self, path: Path, facts: str) -> Listing:
        """The instance with these facts; raises as `newest` does."""
        return self._decode(path, self._text(path), facts)

    def _content(self, path: Path) -> bytes | None:
        """What a file holds; None when there is none, nothing when it cannot be read."""
        try:
            return files.read(self._root, path)
        except Unreadable:
            return b""

    def _folder(self, path: Path) -> Path:
        return self._facts / path.stem

    def _newest_first(self, path: Path) -> tuple[Path, ...]:
        folder = self._folder(path)
        found = files.signatures_in(self._root, folder)
        if not found:
            raise Damaged(path, "its facts are missing", f"{_AGAIN}.")
        names = sorted(found, key=lambda name: found[name].modified, reverse=True)
        return tuple(folder / name for name in names)

    def _text(self, path: Path) -> str:
        """The text of a listing, after its hash was compared with its name."""
        signature = files.sign(path)
        kept = self._texts.get(path.name)
        if kept and kept[0] == signature:
            return kept[1]
        data = self._read(path, signature)
        if signature is None or data is None:
            raise NotAListing(path, "there is no such listing", f"{_AGAIN}.")
        if digest_of(data) != digest_in(path.name):
            raise Damaged(
                path,
                "was edited by hand or damaged: its text is not the one it is named by",
                f"{_AGAIN}, or delete it.",
            )
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise Damaged(
                path, f"its text is not UTF-8: {error}", f"{_AGAIN}."
            ) from error
        self._texts[path.name] = (signature, text)
        return text

    def _read(self, path: Path, signature: files.Signature | None) -> bytes | None:
        """What a file holds that is not in memory; None when there is none."""
        if self._reading is not None and signature is not None:
            self._reading(signature.size)
        return files.read(self._root, path)

    def _decode(self, path: Path, text: str, facts: str) -> Listing:
        # A text, because making a path takes longer than asking the system.
        where = f"{self._facts}{os.sep}{path.stem}{os.sep}{facts}"
        signature = files.sign(where)
        kept = self._kept.get(where)
        if kept is None or kept.signature != signature:
            data = self._read(Path(where), signature)
            if signature is None or data is None:
                raise Damaged(path, f"its facts {facts} are missing", f"{_AGAIN}.")
            if digest_of(data) != facts:
                raise Damaged(path, f"its facts {facts} are damaged", f"{_AGAIN}.")
            # A sidecar that was only touched is not decoded again.
            listing = kept.listing if kept else _decoded(path, text, data)
            if kept is None and self._here is not None:
                listing = _moved(listing, self._here)
            # Another thread may have kept it meanwhile, and somebody have tables of that.
            other = self._kept.get(where)
            kept = Kept(signature, other.listing if other else listing)
        for gone in self._kept.keep(where, kept):
            self._texts.pop(f"{Path(gone).parent.name}.py", None)
        return kept.listing


def _moved(listing: Listing, here: Callable[[str], str]) -> Listing:
    """A listing with the paths that its files have on this machine."""
    to = msgspec.structs.replace
    return to(
        listing,
        sources=tuple(to(s, path=here(s.path)) for s in listing.sources),
        scopes=tuple(to(s, file=s.file and here(s.file)) for s in listing.scopes),
        targets=tuple(to(t, file=t.file and here(t.file)) for t in listing.targets),
        links=tuple(
            to(link, to=to(link.to, path=here(link.to.path)))
            if isinstance(link.to, ToLine)
            else link
            for link in listing.links
        ),
    )


def _decoded(path: Path, text: str, data: bytes) -> Listing:
    try:
        return decode(data, text)
    except SidecarError as error:
        raise Damaged(path, f"its {error}", f"{_AGAIN}.") from error
