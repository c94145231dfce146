"""Code that was compiled once, kept for later processes in a folder of the user's own.

Compiling the text of a graph takes longer than all else that is done to run it. Whoever
can put code there decides what runs behind a text that looks harmless; so nothing is
taken from a folder or a file that anybody but this user can write, and no folder that
was cloned, imported or copied from another machine is looked at.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import marshal
import os
import secrets
import stat
import sys
import time
from collections.abc import Generator, Mapping
from hashlib import sha256
from types import CodeType

__all__ = ["CodeCache", "folder_for"]

SHORTEST = 1024
"""Shorter texts are compiled in the time that a file takes."""
MOST = 256 << 20
"""The bytes that are kept; the code used last stays."""
_LARGEST = 32 << 20
_LAYOUT = b"fxls code 1"
_DIGEST = sha256().digest_size
_HOUR = 3600.0
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def folder_for(
    environment: Mapping[str, str], project: str | None = None
) -> str | None:
    """Where a user keeps code while a program of a project runs; None for nowhere.

    ``FXLS_CODE_CACHE=0`` turns it off. It is off as well where the system does not say
    who may write a file, and where the folder would be a part of the project.
    """
    if environment.get("FXLS_CODE_CACHE") == "0" or os.name != "posix":
        return None
    chosen = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(chosen):  # noqa: PTH117  # strings throughout
        own = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
        chosen = os.path.expanduser(own)  # noqa: PTH111  # as above
    folder = os.path.join(os.path.realpath(chosen), "fxls-code")  # noqa: PTH118  # as above
    if project is None:
        return folder
    inside = os.path.join(os.path.realpath(project), "")  # noqa: PTH118  # as above
    return None if folder.startswith(inside) else folder


class CodeCache:
    """Code by the text that it was compiled of; without a folder, everything is compiled.

    - A file has the name of a hash of the text, and of all that its code depends on.
    - What cannot be read, is damaged, or may be somebody else's counts as missing; what
      cannot be written is compiled again by the next process.
    - Processes need no lock: each puts whole files in place.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self._unlooked = 0
        """Bytes that this process wrote since it last looked how much there is."""

    def compiled(self, text: str, path: str) -> CodeType:
        """A module of this text, whose code and all code in it has this path."""
        if self.folder is None or len(text) < SHORTEST:
            return _compile(text, path)
        name = _name_of(text)
        kept = self._read(name)
        if kept is not None:
            return _under(path, kept)
        code = _compile(text, path)
        self._write(name, code)
        return code

    def problem(self) -> str | None:
        """Why nothing is kept; None where it is, or will be."""
        if self.folder is None:
            return "programs of this project keep none"
        try:
            with self._opened(self.folder):
                return None
        except FileNotFoundError:
            return None
        except OSError as error:
            return error.strerror or str(error)

    def clear(self, *, is_rehearsal: bool = False) -> int:
        """Delete all; how many bytes that were, or would be. Raises `OSError`."""
        if self.folder is None:
            return 0
        try:
            with self._opened(self.folder) as folder:
                found = _files(folder)
                for name, _, _ in found if not is_rehearsal else ():
                    os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return 0
        return sum(size for _, size, _ in found)

    def _read(self, name: str) -> CodeType | None:
        try:
            with self._opened(self.folder or "") as folder:
                data = _bytes_of(folder, name)
        except OSError:
            return None
        kept, digest = data[_DIGEST:], data[:_DIGEST]
        # marshal may crash on what it did not write itself.
        if sha256(kept).digest() != digest:
            return None
        code = marshal.loads(kept)
        return code if isinstance(code, CodeType) else None

    def _write(self, name: str, code: CodeType) -> None:
        kept = marshal.dumps(code)
        if sys.dont_write_bytecode or len(kept) > _LARGEST:
            return
        temporary = f"{name}.{secrets.token_hex(8)}"
        with contextlib.suppress(OSError):
            os.makedirs(self.folder or "", 0o700, exist_ok=True)  # noqa: PTH103  # as above
            with self._opened(self.folder or "") as folder:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
                made = os.open(temporary, flags, 0o600, dir_fd=folder)
                with os.fdopen(made, "wb") as file:
                    file.write(sha256(kept).digest() + kept)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                self._unlooked += len(kept)
                # Looking at all files takes a while: one process in many does it.
                if self._unlooked > MOST // 8 or name.startswith("00"):
                    self._unlooked = 0
                    _evict(folder)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Generator[int]:
        """The folder, which cannot be exchanged for another one while it is used."""
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
        try:
            _refuse_strangers(os.fstat(folder))
            yield folder
        finally:
            os.close(folder)


def _compile(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def _name_of(text: str) -> str:
    made_by = (
        _LAYOUT,
        str(sys.implementation.cache_tag).encode(),
        importlib.util.MAGIC_NUMBER,
        # `-O`, and `-X no_debug_ranges`, which no pyc knows of.
        str((sys.flags.optimize, _HAS_COLUMNS)).encode(),
        text.encode("utf-8", "surrogatepass"),
    )
    return sha256(b"".join(sha256(one).digest() for one in made_by)).hexdigest()


_HAS_COLUMNS = list(_compile("a", "").co_positions())[-1][2] is not None


def _under(path: str, code: CodeType) -> CodeType:
    """Code and all code in it, as if it had been compiled under a path."""
    constants = [
        _under(path, one) if isinstance(one, CodeType) else one
        for one in code.co_consts
    ]
    return code.replace(co_filename=path, co_consts=tuple(constants))


def _bytes_of(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | _NO_LINK
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        _refuse_strangers(found)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EMLINK, "it has other names")
        if found.st_mtime < time.time() - _HOUR:
            os.utime(file.fileno())  # what is used last goes last
        return file.read(min(found.st_size, _LARGEST + _DIGEST))


def _refuse_strangers(found: os.stat_result) -> None:
    """Raise for what is not this user's, or lets others do anything."""
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "other users may read or write it")


def _files(folder: int) -> list[tuple[str, int, float]]:
    """Each name with its size and when it was used."""
    found: list[tuple[str, int, float]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                is_of = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(is_of.st_mode):
                    found.append((entry.name, is_of.st_size, is_of.st_mtime))
    return found


def _evict(folder: int) -> None:
    """Delete what was not used for the longest time, until a quarter is free."""
    found = sorted(_files(folder), key=lambda one: one[2])
    excess = sum(size for _, size, _ in found) - MOST
    if excess <= 0:
        return
    excess += MOST // 4
    for name, size, _ in found:
        if excess <= 0:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        excess -= size
