"""A store on another machine: a local copy of it, which is kept up to date.

A text and its facts are named by what they hold, and logs only grow. So the copy is a
store like any other, and whoever reads listings waits for no network: a thread does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from fxls.attempt import Raised, attempt
from fxls.store import files
from fxls.store.errors import StoreError
from fxls.store.log import SUFFIX, revisions_in
from fxls.store.names import digest_in, digest_of, is_file_name
from fxls.store.pruning import delete_listing
from fxls.store.show_requests import NAME as SHOWN
from fxls.store_root import FOLDER

__all__ = ["Mirror", "Unreachable", "copies", "project_of"]

_AT_ONCE = 32
"""Files that are asked for together."""

_DAY = 86400.0
"""How long a copy stays of what is no more: somebody may have a breakpoint in it."""


class Unreachable(Exception):
    """A store on another machine cannot be read: which, why, and what to do."""

    def __init__(self, url: str, problem: str, advice: str) -> None:
        super().__init__(url, problem, advice)
        self.url = url
        self.problem = problem
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.url}: {self.problem}. {self.advice}"


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
        self._files: Any = None
        self._path = ""
        self._logs: dict[str, object] = {}
        """What the other end said of each log that is copied."""
        self._there: frozenset[str] = frozenset()
        """The texts that the other end had."""
        self._known: dict[str, dict[str, float]] = {}
        """By text and facts, when a log last named them."""
        self._asked: tuple[object, int] | None = None
        """What the other end said of the file of what is to be shown, and its length."""

    def pull(self) -> None:
        """Copy what is new; raises `Unreachable`, or `StoreError` for the copy."""
        outcome = attempt(self._pull)
        if isinstance(outcome, Raised):
            self._files = None  # a connection that broke stays broken
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
        if self._files is None:
            self._files, self._path = _opened(self.url)
        self._files.invalidate_cache()
        found = self._list("")
        if found is None:
            raise Unreachable(
                self.url,
                "there is no such folder",
                "A program that runs there under fxls makes it.",
            )
        there = frozenset(filter(is_file_name, found))
        logs = {
            name: said
            for name, said in (self._list("log") or {}).items()
            if name.endswith(SUFFIX) and (said is None or self._logs.get(name) != said)
        }
        written = self._read(f"log/{name}" for name in logs)
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
        self._fetch([one for one in missing if one in latest])
        for path, log in written.items():
            files.write(self.root, self.root / path, log)
        self._fetch([one for one in missing if one not in latest])
        self._delete(there)
        self._take_asked(found)
        self._logs |= logs
        self._there = there

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

    def _fetch(self, instances: Sequence[_Instance]) -> None:
        for start in range(0, len(instances), _AT_ONCE):
            batch = instances[start : start + _AT_ONCE]
            paths = {path for one in batch for path in (one.facts_path, one.text)}
            found = self._read(paths)
            for one in reversed(batch):  # the newest facts of a text are written last
                text, facts = found.get(one.text), found.get(one.facts_path)
                if text is None or digest_of(text) != digest_in(one.text):
                    continue  # deleted in between, or damaged there
                if facts is None or digest_of(facts) != one.facts:
                    continue
                made = int(one.time * 1e9)
                files.write(self.root, self.root / one.facts_path, facts, modified=made)
                files.write(self.root, self.root / one.text, text)

    def _take_asked(self, found: Mapping[str, object]) -> None:
        """Let be shown what was asked for since the first look at the other end."""
        said = found.get(SHOWN)
        if self._asked is not None and said is not None and said == self._asked[0]:
            return
        content = b"" if SHOWN not in found else self._read((SHOWN,)).get(SHOWN, b"")
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

    def _list(self, folder: str) -> dict[str, object] | None:
        """By name, what tells whether a file is as it was; None when there is no way
        to tell. No folder, no answer.
        """
        try:
            rows = self._files.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return None
        return {
            PurePosixPath(str(row["name"]).rstrip("/")).name: _said(row) for row in rows
        }

    def _read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """What these files hold, of those that are there."""
        asked = {self._at(path): path for path in paths}
        if not asked:
            return {}
        answers = self._files.cat(list(asked), on_error="return")
        found: dict[str, bytes] = {}
        for path, answer in answers.items():
            if isinstance(answer, bytes):
                found[asked[path]] = answer
            elif not isinstance(answer, FileNotFoundError):
                raise answer
        return found

    def _at(self, path: str) -> str:
        return f"{self._path}/{path}".rstrip("/")


def project_of(url: str) -> str | None:
    """The folder on the other machine that a store in it belongs to, when the URL says."""
    path = PurePosixPath(unquote(urlsplit(url).path))
    return str(path.parent) if path.name == FOLDER else None


def copies() -> Path:
    """The user's folder for copies of stores."""
    return Path.home() / ".cache" / "fxls"


def _opened(url: str) -> tuple[Any, str]:
    """The file system that a URL names, and the path in it."""
    try:
        library: Any = import_module("fsspec")
    except ImportError as error:
        raise Unreachable(url, "fsspec is not installed", _INSTALL) from error
    scheme = url.partition("://")[0].rpartition("::")[2]
    try:
        kind = library.get_filesystem_class(scheme)
        # sshfs trusts every host unless it is told not to.
        is_sshfs = kind.__module__.partition(".")[0] == "sshfs"
        options = dict(_OF_SSH if is_sshfs else {}, skip_instance_cache=True)
        found, path = library.core.url_to_fs(url, **options)
    except ImportError as error:
        raise Unreachable(url, str(error).rstrip("."), _INSTALL) from error
    # What fsspec asks over http stays a URL.
    return found, (path if scheme.startswith("http") else unquote(path)).rstrip("/")


_OF_SSH: Mapping[str, object] = {
    "known_hosts": (),  # those of the user's file
    "keepalive_interval": 15,
    "timeout": 30,
}

_INSTALL = (
    "Install it where fxls runs; `pip install 'fxls[remote]'` is enough for ssh://."
)


def _said(row: Mapping[str, object]) -> object:
    when = row.get("mtime") or row.get("created") or row.get("LastModified")
    return None if row.get("size") is None else (row["size"], when)


def _word(url: str) -> str:
    """A URL as the name of a folder: readable, and then a hash."""
    plain = re.sub(r"^[^:]+://([^/@]*@)?", "", url)
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", plain).strip("._-")[-60:]
    return f"{readable or 'store'}-{digest_of(url.encode())}"
