"""The files of a store on another machine, by any file system of fsspec; read alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

__all__ = ["OtherEnd", "Said", "Unreachable"]

Said = tuple[int, object] | None
"""What tells whether a file is as it was: its size, and when it was written. None when
there is no way to tell.
"""


class Unreachable(Exception):
    """A store on another machine cannot be read: which, why, and what to do."""

    def __init__(self, url: str, problem: str, advice: str) -> None:
        super().__init__(url, problem, advice)
        self.url = url
        self.problem = problem
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.url}: {self.problem}. {self.advice}"


class OtherEnd:
    """The folder that a URL names. Its paths are relative to that.

    Raises `Unreachable` where it cannot be, and else what its library raises.
    """

    def __init__(self, url: str) -> None:
        self._files, self._path = _opened(url)

    def look_anew(self) -> None:
        """Forget what folders held."""
        self._files.invalidate_cache()

    def list(self, folder: str) -> dict[str, Said] | None:
        """What is said of each file in a folder, by its name. No folder, no answer.

        Without links, pipes and the like: reading one may never end.
        """
        try:
            rows = self._files.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return None
        return {
            PurePosixPath(str(row["name"])).name: _said(row)
            for row in rows
            if row["type"] == "file" and not row.get("islink")
        }

    def read(
        self, paths: Iterable[str], *, is_refusal_absence: bool = False
    ) -> dict[str, bytes]:
        """What these files hold, of those that are there; of files that others keep to
        themselves, also of those that may be read.
        """
        asked = {self._at(path): path for path in paths}
        if not asked:
            return {}
        answers = self._files.cat(list(asked), on_error="return")
        found: dict[str, bytes] = {}
        for path, answer in answers.items():
            if isinstance(answer, bytes):
                found[asked[path]] = answer
            elif isinstance(answer, FileNotFoundError):
                continue
            elif not (is_refusal_absence and _is_refusal(answer)):
                raise answer
        return found

    def read_part(self, path: str, start: int, most: int) -> bytes:
        """So many bytes of a file at most, from a place on; none of one that is gone, or
        that may not be read.
        """
        # Not `cat_file`: that of sshfs reads all, whatever part it is asked for.
        try:
            with self._files.open(self._at(path), "rb") as file:
                if start:
                    file.seek(start)
                return bytes(file.read(most))
        except FileNotFoundError:
            return b""
        except Exception as error:
            if _is_refusal(error):
                return b""
            raise

    def _at(self, path: str) -> str:
        return f"{self._path}/{path}".rstrip("/")


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


def _is_refusal(error: BaseException) -> bool:
    """Whether a file is there and may not be read; a broken connection is none."""
    # asyncssh has an error of its own, with the number that SFTP has for it.
    return isinstance(error, PermissionError) or getattr(error, "code", None) == 3


def _said(row: Mapping[str, Any]) -> Said:
    when = row.get("mtime") or row.get("created") or row.get("LastModified")
    return None if row.get("size") is None else (row["size"], when)
