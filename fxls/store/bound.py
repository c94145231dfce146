"""The bound of a store holds while programs write to it, and not only once a day.

All that write to a store count together what they write, as the size of one file; whoever
finds that it was much since the store was last pruned prunes it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from fxls.store import files
from fxls.store.errors import StoreError
from fxls.store.pruning import MEGABYTES, prune

__all__ = ["Bound"]

_COUNT = "written"
"""The file of the count."""
_UNIT = 1 << 12
"""So many bytes of listings are one byte of it."""
_STEP = 1 << 18
"""So many bytes at most are written before they are counted."""
_SHARE = 8
"""The part of the bound that may be written before somebody looks at the whole store."""


class Bound:
    """What a process writes to one store, counted with all others that do."""

    def __init__(self, root: Path, megabytes: float = MEGABYTES) -> None:
        self._root = root
        self.megabytes = megabytes
        self._in_use: Callable[[], Iterable[Path]] = tuple
        self._uncounted = 0
        self._lock = threading.Lock()

    def keep(self, in_use: Callable[[], Iterable[Path]]) -> None:
        """Let these listings stay, of all that this process wrote."""
        self._in_use = in_use

    def wrote(self, size: int) -> None:
        """Take note of bytes that were written, and delete others when it is time."""
        self._uncounted += size
        if self._uncounted >= self._step():
            self.count()

    def count(self) -> None:
        """Count what is not counted yet, as at the end of a program."""
        # Another thread that is here does it for both.
        if self._lock.acquire(blocking=False):
            try:
                # It was said already that it cannot write.
                with contextlib.suppress(StoreError):
                    self._count()
            finally:
                self._lock.release()

    def _count(self) -> None:
        units = -(-self._uncounted // _UNIT)
        if not units:
            return
        self._uncounted = 0
        path = self._root / files.TEMPORARY / _COUNT
        files.append_line(self._root, path, b"." * units)
        counted = files.sign(path)
        if counted is not None and counted.size * _UNIT >= self._share():
            files.write(self._root, path, b"")
            prune(
                self._root,
                # What is written before the next look fits in as well.
                megabytes=self.megabytes - (self._share() + self._step()) / 1e6,
                in_use=self._in_use(),
            )

    def _step(self) -> float:
        return min(_STEP, self._share())

    def _share(self) -> float:
        return self.megabytes * 1e6 / _SHARE
