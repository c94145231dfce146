"""A store on another machine: a local copy of it, which is kept up to date.

A text and its facts are named by what they hold, and logs only grow. So the copy is a
store like any other, and whoever reads listings waits for no network: a thread does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from fxls.attempt import Raised, attempt
from fxls.store import files
from fxls.store.errors import StoreError
from fxls.store.log import SUFFIX, revisions_in
from fxls.store.names import digest_in, digest_of, is_file_name
from fxls.store.other_end import OtherEnd, Unreachable
from fxls.store.pruning import delete_listing
from fxls.store.run_copies import RunCopies
from fxls.store.show_requests import NAME as SHOWN
from fxls.store_root import FOLDER

__all__ = ["Mirror", "Unreachable", "copies", "project_of"]

_AT_ONCE = 32
"""Files that are asked for together."""

_DAY = 86400.0
"""How long a copy stays of what is no more: somebody may have a breakpoint in it."""


class _Instance(NamedTuple):
    """A text with the facts that it had at some time."""

    time: float
    text: str
    facts: str

    @property
    def facts_path(self) -> str:
        return f"facts/{self.text.removesuffix('.py')}/{self.facts}"


class Mirror:
    """The local copy of a store that a URL names; any file system of fsspec serves.

    - What is in the copy is whole at any moment. Nothing is written at the other end.
    - For one thread.
    """

    def __init__(self, url: str, folder: Path) -> None:
        """`folder` holds the copies of all stores."""
        self.url = url
        self.root = folder / _word(url)
        self._other_end: OtherEnd | None = None
        self._logs: dict[str, object] = {}
        """What the other end said of each log that is copied."""
        self._there: frozenset[str] = frozenset()
        """The texts that the other end had."""
        self._known: dict[str, dict[str, float]] = {}
        """By text and facts, when a log last named them."""
        self._asked: tuple[object, int] | None = None
        """What the other end said of the file of what is to be shown, and its length."""
        self._runs = RunCopies(self.root)

    def pull(self) -> None:
        """Copy what is new; raises `Unreachable`, or `StoreError` for the copy."""
        outcome = attempt(self._pull)
        if isinstance(outcome, Raised):
            self._other_end = None  # a connection that broke stays broken
            error = outcome.error
            if isinstance(error, StoreError | Unreachable):
                raise error
            reason = str(error) or type(error).__name__
            advice = (
                "Check the address and the connection. What was read of it before is "
                "still shown."
            )
            raise Unreachable(self.url, reason.rstrip("."), advice) from error

    def _pull(self) -> None:
        if self._other_end is None:
            self._other_end = OtherEnd(self.url)
        other_end = self._other_end
        other_end.look_anew()
        found = other_end.list("")
        if found is None:
            raise Unreachable(
                self.url,
                "there is no such folder",
                "A program that runs there under fxls makes it.",
            )
        there = frozenset(filter(is_file_name, found))
        logs = {
            name: said
            for name, said in (other_end.list("log") or {}).items()
            if name.endswith(SUFFIX) and (said is None or self._logs.get(name) != said)
        }
        written = other_end.read(f"log/{name}" for name in logs)
        texts = set(there - self._there)
        latest: set[_Instance] = set()
        for log in written.values():
            revisions = list(revisions_in(self.root, log))
            for one in revisions:
                texts.add(one.path.name)
                self._known.setdefault(one.path.name, {})[one.facts] = one.time
            newest = [one for one in revisions if one.path.name in there][-1:]
            latest |= {_Instance(n.time, n.path.name, n.facts) for n in newest}
        missing = self._missing(texts & there)
        # The newest of each identity first: that is what somebody waits for.
        self._fetch(other_end, [one for one in missing if one in latest])
        for path, log in written.items():
            files.write(self.root, self.root / path, log)
        self._fetch(other_end, [one for one in missing if one not in latest])
        self._delete(there)
        self._take_asked(other_end, found)
        self._logs |= logs
        self._there = there
        # Last, because records name listings.
        self._runs.pull(other_end)

    def _missing(self, texts: Iterable[str]) -> list[_Instance]:
        """What the logs name of these texts, and the copy lacks; the newest first."""
        copied = set(files.names_in(self.root, self.root))
        named = [
            _Instance(at, text, facts)
            for text in texts
            for facts, at in self._known.get(text, {}).items()
        ]
        return sorted(
            (
                one
                for one in named
                if one.text not in copied
                or not files.is_there(self.root / one.facts_path)
            ),
            reverse=True,
        )

    def _fetch(self, other_end: OtherEnd, instances: Sequence[_Instance]) -> None:
        for start in range(0, len(instances), _AT_ONCE):
            batch = instances[start : start + _AT_ONCE]
            paths = {path for one in batch for path in (one.facts_path, one.text)}
            found = other_end.read(paths)
            for one in reversed(batch):  # the newest facts of a text are written last
                text, facts = found.get(one.text), found.get(one.facts_path)
                if text is None or digest_of(text) != digest_in(one.text):
                    continue  # deleted in between, or damaged there
                if facts is None or digest_of(facts) != one.facts:
                    continue
                made = int(one.time * 1e9)
                files.write(self.root, self.root / one.facts_path, facts, modified=made)
                files.write(self.root, self.root / one.text, text)

    def _take_asked(self, other_end: OtherEnd, found: Mapping[str, object]) -> None:
        """Let be shown what was asked for since the first look at the other end."""
        said = found.get(SHOWN)
        if self._asked is not None and said is not None and said == self._asked[0]:
            return
        content = b""
        if SHOWN in found:
            content = other_end.read((SHOWN,)).get(SHOWN, b"")
        end = content.rfind(b"\n") + 1
        if self._asked is not None and end > self._asked[1]:
            new = content[self._asked[1] : end]
            files.append_line(self.root, self.root / SHOWN, new.rstrip(b"\n"))
        self._asked = said, end

    def _delete(self, there: frozenset[str]) -> None:
        """Let go of what the other end has no more."""
        for name in files.names_in(self.root, self.root):
            if is_file_name(name) and name not in there:
                signature = files.sign(self.root / name)
                if signature and time.time() - signature.modified / 1e9 > _DAY:
                    delete_listing(self.root, name)


def project_of(url: str) -> str | None:
    """The folder on the other machine that a store in it belongs to, when the URL says."""
    path = PurePosixPath(unquote(urlsplit(url).path))
    return str(path.parent) if path.name == FOLDER else None


def copies() -> Path:
    """The user's folder for copies of stores."""
    return Path.home() / ".cache" / "fxls"


def _word(url: str) -> str:
    """A URL as the name of a folder: readable, and then a hash."""
    plain = re.sub(r"^[^:]+://([^/@]*@)?", "", url)
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", plain).strip("._-")[-60:]
    return f"{readable or 'store'}-{digest_of(url.encode())}"
