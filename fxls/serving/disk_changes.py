"""Files that somebody else changed on the disk, taken together when it is quiet again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

__all__ = ["DiskChanges"]

_QUIET = 0.3
"""Seconds without a change after which a burst of them is over."""

_PATIENCE = 3.0
"""Seconds after which what has come is looked at though changes go on."""


class DiskChanges:
    """Collects the paths of changes, and hands over those of a burst at once.

    A checkout changes hundreds of files in a moment: each model that imports some of
    them is to be traced once, and as all of them are in the end.
    """

    def __init__(self) -> None:
        self._paths: dict[str, bool] = {}
        """Whether there was no file at a path."""
        self._timer: asyncio.TimerHandle | None = None
        self._first = 0.0

    def add(
        self,
        path: str,
        on_settled: Callable[[Mapping[str, bool]], None],
        *,
        is_new: bool = False,
    ) -> None:
        """Note that a file was made, changed or deleted.

        `on_settled` gets the whole burst: the paths, and whether each is of a new file.
        It looks at the disk for what became of them, because a checkout may delete a
        file and write it again.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._paths:
            self._first = now
        self._paths[path] = is_new and self._paths.get(path, True)
        self.cancel()
        when = min(now + _QUIET, self._first + _PATIENCE)
        self._timer = loop.call_at(when, self._settle, on_settled)

    def cancel(self) -> None:
        """Hand over nothing any more, until another change comes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _settle(self, on_settled: Callable[[Mapping[str, bool]], None]) -> None:
        self._timer = None
        paths, self._paths = self._paths, {}
        if paths:
            on_settled(paths)
