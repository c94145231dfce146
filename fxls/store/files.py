"""Reading and writing the files of a store, so that a kill at any moment is harmless.

Everything that is written below a store is written here, and nothing else is: neither
a link nor a second name of a file leads a writer, or one who deletes, out of the store.
Nothing is synced to the disk: what a power failure leaves behind is found by its hash
and written again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fxls import regular_file
from fxls.store.errors import Unreadable, Unwritable
from fxls.store_root import FOLDER

__all__ = [
    "Growing",
    "Signature",
    "append_line",
    "delete",
    "delete_folder",
    "delete_torn",
    "is_there",
    "last_line",
    "names_in",
    "read",
    "read_end",
    "read_from",
    "sign",
    "signatures_in",
    "touch",
    "write",
]

TEMPORARY = "tmp"
"""The folder for half-written files: none of them ever has the name of a listing."""

_MOST_NAMES = 200_000
"""The longest folder that is read."""

_TORN = re.compile(r"\d+-[0-9a-f]{16}")
_TAIL = 1 << 16

_CREATING = (
    os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
_PRIVATE = 0o600
_ADDING = os.O_RDWR | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | _CREATING


class Signature(NamedTuple):
    """What the system says of a file: equal for as long as the file is unchanged."""

    inode: int
    size: int
    modified: int
    changed: int


def is_there(path: Path) -> bool:
    """Whether there is anything of that name; no when it may not be known."""
    return os.path.lexists(path)


def sign(path: Path | str) -> Signature | None:
    """The signature of a file; None when there is none."""
    return _sign(str(path))


def read(root: Path, path: Path) -> bytes | None:
    """The bytes of a file; None when there is none."""
    try:
        _refuse_links(root, path.parent)
        return regular_file.read_no_link(path, regular_file.LISTING_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable.because(path, error) from error


def read_end(root: Path, path: Path, most: int) -> tuple[int, bytes]:
    """The last bytes of a file, and how many come before; nothing when there is none."""
    try:
        _refuse_links(root, path.parent)
        return regular_file.read_end(path, most)
    except (FileNotFoundError, NotADirectoryError):
        return 0, b""
    except OSError as error:
        raise Unreadable.because(path, error) from error


def read_from(root: Path, path: Path, start: int, most: int) -> tuple[int, bytes]:
    """The bytes of a file from a place on, and how many the file has; raises `Unreadable`.

    Nothing from behind its end, and where there is none.
    """
    try:
        _refuse_links(root, path.parent)
        return regular_file.read_from(path, start, most)
    except (FileNotFoundError, NotADirectoryError):
        return 0, b""
    except OSError as error:
        raise Unreadable.because(path, error) from error


def signatures_in(root: Path, folder: Path) -> dict[str, Signature]:
    """The signature of each file in a folder by name, in the order of the names."""
    # Strings, because making paths takes longer than asking the system.
    start = os.path.join(folder, "")  # noqa: PTH118
    signatures = {name: _sign(start + name) for name in names_in(root, folder)}
    return {name: found for name, found in signatures.items() if found}


def names_in(root: Path, folder: Path) -> tuple[str, ...]:
    """The names in a folder, in order; empty when there is no such folder."""
    try:
        _refuse_links(root, folder)
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES + 1)]
        if len(names) > _MOST_NAMES:
            problem = f"it holds more than {_MOST_NAMES:,} files"
            raise OSError(errno.EFBIG, problem, str(folder))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise Unreadable.because(folder, error) from error
    return tuple(sorted(names))


def write(
    root: Path,
    path: Path,
    data: bytes,
    *,
    modified: int | None = None,
    is_private: bool = False,
) -> None:
    """Put a file of the store in place, whole, whatever file stood there.

    Writers of the same file never meet: each renames a temporary file of its own. A
    link of that name is replaced, and not followed. Others may not read a private one.
    """
    temporary = root / TEMPORARY / f"{os.getpid()}-{secrets.token_hex(8)}"

    def put() -> None:
        try:
            mode = _PRIVATE if is_private else 0o666
            made = os.open(temporary, os.O_WRONLY | os.O_EXCL | _CREATING, mode)
            with os.fdopen(made, "wb") as file:
                file.write(data)
            if modified is not None:
                os.utime(temporary, ns=(modified, modified))
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    _making_folders(root, path, (temporary.parent, path.parent), put)


class Growing:
    """A new file that this process alone writes, line by line; others may not read it.

    Its methods raise `Unwritable`.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self._path = path
        self.size = 0
        self._file = -1
        self._is_whole = True

        def make() -> None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_EXCL | _CREATING
            self._file = os.open(path, flags, _PRIVATE)

        _making_folders(root, path, (path.parent,), make)

    def add(self, line: bytes) -> None:
        """Add a line, whole; behind a part of one that did not fit, nothing is added."""
        try:
            if not self._is_whole:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
            data = memoryview(line + b"\n")
            while data:
                self._is_whole = False
                written = os.write(self._file, data)
                self.size += written
                data = data[written:]
            self._is_whole = True
        except OSError as error:
            raise Unwritable.because(self._path, error) from error

    def close(self) -> None:
        """Add nothing any more."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1


def append_line(root: Path, path: Path, line: bytes) -> None:
    """Add a line to a file with one write, which the system does not interleave.

    A line that a killed writer left without its end is ended first.
    """

    def append() -> None:
        with contextlib.suppress(FileNotFoundError):
            # First, because opening alone makes some devices do something.
            _refuse_others(os.lstat(path), path)
        with os.fdopen(os.open(path, _ADDING, 0o666), "r+b", buffering=0) as file:
            _refuse_others(os.fstat(file.fileno()), path)
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            data = (b"\n" if end and file.read(1) != b"\n" else b"") + line + b"\n"
            while data:
                data = data[file.write(data) :]

    _making_folders(root, path, (path.parent,), append)


def touch(root: Path, path: Path, modified: int) -> bool:
    """Give a file another date; False when it has another name, whose date that is.

    Raises `OSError`.
    """
    _refuse_all_links(root, path.parent)
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        return False
    os.utime(path, ns=(modified, modified))
    return True


def touch_folder(root: Path, folder: Path) -> None:
    """Give a folder the date of now, where that can be done."""
    with contextlib.suppress(OSError):
        _refuse_all_links(root, folder)
        os.utime(folder, follow_symlinks=False)


def delete(root: Path, path: Path) -> None:
    """Delete a file, unless it is gone."""
    try:
        _refuse_all_links(root, path.parent)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unwritable.because(path, error) from error


def delete_folder(root: Path, folder: Path) -> None:
    """Delete a folder, unless it holds anything."""
    with contextlib.suppress(OSError):
        _refuse_all_links(root, folder)
        folder.rmdir()


def delete_torn(root: Path, before: float) -> None:
    """Half-written files that were left before some time, in seconds since 1970."""
    folder = root / TEMPORARY
    for name, one in signatures_in(root, folder).items():
        if _TORN.fullmatch(name) and one.modified / 1e9 < before:
            with contextlib.suppress(Unwritable):
                delete(root, folder / name)


def last_line(root: Path, path: Path) -> bytes:
    """The last whole line of a file, without its end; empty when none can be read."""
    try:
        lines = read_end(root, path, _TAIL)[1].split(b"\n")
    except Unreadable:
        return b""
    return lines[-2] if len(lines) > 1 else b""


def _making_folders(
    root: Path, path: Path, folders: tuple[Path, ...], write: Callable[[], None]
) -> None:
    """Write a file; when a folder was missing, make the folders and write again.

    Nearly always the folders are there, and somebody may delete them at any moment.
    """
    try:
        for folder in folders:
            _refuse_all_links(root, folder)
        try:
            write()
        except FileNotFoundError:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
            write()
    except OSError as error:
        raise Unwritable.because(path, error) from error


def _refuse_all_links(root: Path, folder: Path) -> None:
    """`_refuse_links`, and for a `.fxls` that is a link, which nothing is written through.

    Whoever cloned a folder did not choose it; a store of another name the user named.
    """
    if root.name == FOLDER and _is_link(root):
        raise OSError(errno.ELOOP, "", str(root))
    _refuse_links(root, folder)


def _refuse_links(root: Path, folder: Path) -> None:
    """Raise for a folder of a store that is a link, or lies in one.

    Asked before each use. Who can exchange a folder in between is no stranger.
    """
    # Strings, because making paths takes longer than asking the system.
    top, here = str(root), str(folder)
    while here != top:
        above = os.path.dirname(here)  # noqa: PTH120
        assert above != here, "it lies in the store"
        if _is_link(here):
            raise OSError(errno.ELOOP, "a symbolic link leads out of it", here)
        here = above


def _refuse_others(found: os.stat_result, path: Path) -> None:
    """Raise for all but a regular file that has one name."""
    regular_file.check_kind(found.st_mode, path)
    if found.st_nlink > 1:
        raise OSError(errno.EMLINK, "", str(path))


def _is_link(path: Path | str) -> bool:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    # A junction of Windows is no symbolic link, and leads elsewhere as well.
    tag = getattr(found, "st_reparse_tag", 0)
    return stat.S_ISLNK(found.st_mode) or (
        tag != 0 and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0)
    )


def _sign(path: str) -> Signature | None:
    try:
        stat = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable.because(Path(path), error) from error
    return Signature(stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
