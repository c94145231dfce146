"""What sources are like on the disk, to be compared with what was traced."""

from __future__ import annotations

import os

from fxls import regular_file
from fxls.listing import source_digest
from fxls.regular_file import SOURCE_BYTES

__all__ = ["MAY_TAKE", "Digests", "modified"]

MAY_TAKE = 60.0
"""Seconds that may pass from the reading of a source until its listing is written."""


class Digests:
    """The digests of files, computed again where a file has changed."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[tuple[int, int], str]] = {}

    def of(self, path: str) -> str:
        """The digest of a source as it is on the disk; empty when it is not there."""
        try:
            status = os.stat(path)  # noqa: PTH116 - a path may be no name of a file
            signature = (status.st_mtime_ns, status.st_size)
            known = self._digests.get(path)
            if known is None or known[0] != signature:
                digest = source_digest(regular_file.read(path, SOURCE_BYTES))
                known = self._digests[path] = (signature, digest)
        except (OSError, ValueError):
            return ""
        return known[1]


def modified(path: str) -> float | None:
    """When a file was written; None when it is not there."""
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - a path may be no name of a file
    except (OSError, ValueError):
        return None
