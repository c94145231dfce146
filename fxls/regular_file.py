"""Reading a file that somebody else wrote: a regular one, up to a size, without waiting.

A folder that was cloned may hold a link to a device that never ends, a pipe that nobody
writes to, or a file of a gigabyte. Everything that reads what such a folder brought
reads it here.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "LISTING_BYTES",
    "SETTINGS_BYTES",
    "SOURCE_BYTES",
    "check_kind",
    "read",
    "read_end",
    "read_from",
    "read_no_link",
    "why",
]

SOURCE_BYTES = 16 << 20
"""The longest source that is read."""
LISTING_BYTES = 128 << 20
"""The longest file of a store: a graph of 100,000 nodes needs a tenth of that."""
SETTINGS_BYTES = 256 << 10
"""The longest ``pyproject.toml``: parsing takes its time."""

# Opening a pipe must not wait for a writer, nor a terminal become this process's.
_READING = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read(path: Path | str, most: int) -> bytes:
    """All of a regular file, which links may lead to.

    Raises `OSError`, also for what is no regular file or has more bytes than `most`.
    """
    return _read(path, most, follow=True)


def read_no_link(path: Path | str, most: int) -> bytes:
    """`read`, which refuses a link as well."""
    return _read(path, most, follow=False)


def read_end(path: Path | str, most: int) -> tuple[int, bytes]:
    """The last bytes of a regular file that is no link, and how many come before them."""
    file, size = _opened(path, follow=False)
    before = max(0, size - most)
    return before, _taken(file, before, size - before)


def read_from(path: Path | str, start: int, most: int) -> tuple[int, bytes]:
    """The bytes of a regular file that is no link, from a place on; and its size."""
    file, size = _opened(path, follow=False)
    return size, _taken(file, start, min(most, max(0, size - start)))


def why(error: OSError | ValueError) -> str:
    """What kept a file from being read, without its path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def check_kind(mode: int, path: Path | str) -> None:
    """Raise `OSError` for what is no regular file."""
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    raise OSError(errno.ENODEV, "it is a device or a pipe, and no file", str(path))


def _read(path: Path | str, most: int, *, follow: bool) -> bytes:
    file, size = _opened(path, follow=follow)
    if size > most:
        os.close(file)
        problem = f"it has {size:,} bytes, and {most:,} are the most that is read"
        raise OSError(errno.EFBIG, problem, str(path))
    # No more than it says to have: a file of the kernel's says none, and may not end.
    return _taken(file, 0, size)


def _opened(path: Path | str, *, follow: bool) -> tuple[int, int]:
    """A file that is open, and how many bytes it says to have."""
    # First, because opening alone makes some devices do something.
    check_kind(os.stat(path, follow_symlinks=follow).st_mode, path)  # noqa: PTH116
    file = os.open(path, _READING | (0 if follow else _NO_LINK))
    try:
        found = os.fstat(file)
        check_kind(found.st_mode, path)
    except OSError:
        os.close(file)
        raise
    return file, found.st_size


def _taken(file: int, start: int, count: int) -> bytes:
    """So many bytes from a place on, or what there is of them; closes the file.

    Without a buffer, which takes longer than to read a small file.
    """
    try:
        if start:
            os.lseek(file, start, os.SEEK_SET)
        parts: list[bytes] = []
        while count > 0 and (part := os.read(file, count)):
            parts.append(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(file)
