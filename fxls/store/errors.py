"""What can go wrong with a store, each with the path and what to do about it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fxls.formats import other_format

__all__ = [
    "Damaged",
    "NotAListing",
    "OtherFormat",
    "StoreError",
    "Unreadable",
    "Unwritable",
]

_ELSEWHERE = "or choose another folder with FXLS_STORE"

_WRITING = {
    errno.ENOSPC: ("the disk is full", f"Free some space {_ELSEWHERE}."),
    errno.EDQUOT: ("the disk quota is used up", f"Free some space {_ELSEWHERE}."),
    errno.EFBIG: ("the file would be larger than the limit", f"Raise it {_ELSEWHERE}."),
    errno.EROFS: ("the file system is read-only", f"Make it writable {_ELSEWHERE}."),
    errno.EACCES: ("permission is denied", f"Give permission to write {_ELSEWHERE}."),
    errno.EPERM: ("it may not be written", f"Give permission to write {_ELSEWHERE}."),
    errno.ENOENT: ("no folder can be made there", f"Make it {_ELSEWHERE}."),
    errno.ENOTDIR: ("a file is where a folder must be", f"Move it away {_ELSEWHERE}."),
    errno.EEXIST: ("a file is where a folder must be", f"Move it away {_ELSEWHERE}."),
    errno.ELOOP: (
        "it is a symbolic link, and could lead anywhere",
        f"Put a file or folder in its place {_ELSEWHERE}.",
    ),
    errno.EMLINK: (
        "it has another name as well, and could be anything",
        f"Put a copy in its place {_ELSEWHERE}.",
    ),
    errno.EISDIR: ("a folder is where a file must be", f"Move it away {_ELSEWHERE}."),
}


_UNREAD = (errno.ELOOP, errno.ENODEV, errno.EFBIG)
"""What `regular_file` refuses."""


class StoreError(Exception):
    """Something is wrong with a store: where, what, and what to do."""

    def __init__(self, path: Path, problem: str, advice: str) -> None:
        super().__init__(path, problem, advice)
        self.path = path
        self.problem = problem
        self.advice = advice
        """What would make it work, as sentences."""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}. {self.advice}"


class NotAListing(StoreError):
    """The path names no listing that is in this store."""


class Damaged(StoreError):
    """A file of the store does not hold what was written to it."""


class OtherFormat(StoreError):
    """Another fxls wrote a file of the store, in a format that this one cannot read."""

    @classmethod
    def of(cls, path: Path, found: int, read: int) -> OtherFormat:
        """Format `found` where `read` is the only one that can be read."""
        return cls(
            path,
            f"some of it {other_format(found, read)}, which leaves that out",
            "Use the same fxls for all that share the store, or delete the file.",
        )


class Unreadable(StoreError):
    """The system does not let a file of the store be read."""

    @classmethod
    def because(cls, path: Path, error: OSError) -> Unreadable:
        reason = error.strerror or str(error)
        if error.errno in _UNREAD:
            return cls(path, f"is not read: {reason}", "Delete it, if it is not yours.")
        return cls(path, f"cannot be read: {reason}", "Check its permissions.")


class Unwritable(StoreError):
    """The system does not let the store be written."""

    @classmethod
    def because(cls, path: Path, error: OSError) -> Unwritable:
        reason = error.strerror or str(error)
        problem, advice = _WRITING.get(
            error.errno or 0, (reason, f"Repair this {_ELSEWHERE}.")
        )
        if error.errno in (errno.ENOTDIR, errno.EEXIST):
            path = next(filter(os.path.isfile, (path, *path.parents)), path)
        elif error.errno in (errno.ELOOP, errno.EMLINK) and error.filename:
            path = Path(str(error.filename))
        return cls(path, f"cannot be written: {problem}", advice)
