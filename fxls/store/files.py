"""Reading and writing the files of a store, so that a kill at any moment is harmless.

Nothing is synced to the disk: what a power failure leaves behind is found by its hash
and written again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fxls.store.errors import Unreadable, Unwritable

__all__ = [
    "Signature",
    "append_line",
    "delete",
    "is_there",
    "last_line",
    "names_in",
    "read",
    "sign",
    "signatures_in",
    "write",
]

TEMPORARY = "tmp"
"""The folder for half-written files: none of them ever has the name of a listing."""

_TAIL = 1 << 16


class Signature(NamedTuple):
    """What the system says of a file: equal for as long as the file is unchanged."""

    inode: int
    size: int
    modified: int
    changed: int


def is_there(path: Path) -> bool:
    """Whether there is anything of that name; no when it may not be known."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists raises on no permission


def sign(path: Path) -> Signature | None:
    """The signature of a file; None when there is none."""
    return _sign(str(path))


def read(path: Path) -> bytes | None:
    """The bytes of a file; None when there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable.because(path, error) from error


def signatures_in(folder: Path) -> dict[str, Signature]:
    """The signature of each file in a folder by name, in the order of the names."""
    # Strings, because making paths takes longer than asking the system.
    start = os.path.join(folder, "")  # noqa: PTH118
    signatures = {name: _sign(start + name) for name in names_in(folder)}
    return {name: found for name, found in signatures.items() if found}


def names_in(folder: Path) -> tuple[str, ...]:
    """The names in a folder, in order; empty when there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(entry.name for entry in entries))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise Unreadable.because(folder, error) from error


def write(root: Path, path: Path, data: bytes, *, modified: int | None = None) -> None:
    """Put a file of the store in place, whole, whatever file stood there.

    Writers of the same file never meet: each renames a temporary file of its own.
    """
    temporary = root / TEMPORARY / f"{os.getpid()}-{secrets.token_hex(8)}"

    def put() -> None:
        try:
            temporary.write_bytes(data)
            if modified is not None:
                os.utime(temporary, ns=(modified, modified))
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    _making_folders(path, (temporary.parent, path.parent), put)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file with one write, which the system does not interleave.

    A line that a killed writer left without its end is ended first.
    """

    def append() -> None:
        with path.open("a+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            data = (b"\n" if end and file.read(1) != b"\n" else b"") + line + b"\n"
            while data:
                data = data[file.write(data) :]

    _making_folders(path, (path.parent,), append)


def delete(path: Path) -> None:
    """Delete a file, unless it is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unwritable.because(path, error) from error


def last_line(path: Path) -> bytes:
    """The last whole line of a file, without its end; empty when none can be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return b""
    return lines[-2] if len(lines) > 1 else b""


def _making_folders(
    path: Path, folders: tuple[Path, ...], write: Callable[[], None]
) -> None:
    """Write a file; when a folder was missing, make the folders and write again.

    Nearly always the folders are there, and somebody may delete them at any moment.
    """
    try:
        try:
            write()
        except FileNotFoundError:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
            write()
    except OSError as error:
        raise Unwritable.because(path, error) from error


def _sign(path: str) -> Signature | None:
    try:
        stat = os.stat(path)  # noqa: PTH116  # as in signatures_in
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable.because(Path(path), error) from error
    return Signature(stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
