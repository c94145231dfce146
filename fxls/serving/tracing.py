"""Traces of entries: one worker for each folder, and what each trace was made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from fxls.entry import ORDER, Entry, Producer
from fxls.host.early_worker import EarlyWorker
from fxls.host.host import Host
from fxls.host.settings import State, Status, WorkerSettings
from fxls.listing import Reason
from fxls.wire import Failed, Fitted, Traced, Tried

__all__ = ["Health", "Traces"]


@dataclass(frozen=True, slots=True)
class Health:
    """How the workers are, in sum."""

    broken: Status | None = None
    """Why one does not start."""
    running: int = 0
    """How many traces somebody waits for."""


_FIT_SECONDS = 20.0
"""How long somebody waits for an entry that fits, at most."""


class Traces:
    """Runs entries of the user's code, in the worker of the folder they belong to.

    - A trace that is asked for again takes the place of the one before.
    - What a trace imported is remembered, so that it is known what a change makes
      stale.
    """

    def __init__(
        self,
        on_printed: Callable[[Entry | None, str], None],
        on_health: Callable[[Health], None],
        early: EarlyWorker | None = None,
    ) -> None:
        """`early` is a worker for the first who wants one like it."""
        self._early = early
        self._on_printed = on_printed
        self._on_health = on_health
        self._hosts: dict[tuple[str, str | None], Host] = {}
        self._broken: dict[str, Status] = {}
        self._imported: dict[tuple[str, str], tuple[Entry, frozenset[str]]] = {}
        self._unimported: dict[tuple[str, str], Entry] = {}
        self._running = 0

    async def trace(
        self,
        entry: Entry,
        *,
        python: str | None,
        folder: str | None,
        store: str,
        time_limit: float,
        order: tuple[Producer, ...] = ORDER,
        timed: bool = False,
    ) -> Traced | Failed:
        """Run an entry and materialize its listing; cancelling the call stops it."""
        host = self._host(python, folder)
        self._count(1)
        try:
            outcome = await host.trace(
                entry, store=store, time_limit=time_limit, order=order, timed=timed
            )
        finally:
            self._count(-1)
        self._note(entry, outcome)
        return outcome

    def _note(self, entry: Entry, outcome: Traced | Failed) -> None:
        """Remember what a trace imported, and whether an import failed."""
        key, sources = (entry.path, entry.name), frozenset(outcome.sources)
        self._unimported.pop(key, None)
        if isinstance(outcome, Failed):
            # It may not have come as far as the trace before.
            sources |= self._imported.get(key, (entry, frozenset[str]()))[1]
            if outcome.failure.reason is Reason.IMPORT:
                self._unimported[key] = entry
        if sources:
            self._imported[key] = (entry, sources)

    async def try_change(
        self,
        entry: Entry,
        path: str,
        text: str,
        *,
        python: str | None,
        folder: str | None,
        time_limit: float,
    ) -> Tried | Failed:
        """Run an entry with another text of a file; cancelling the call stops it."""
        host = self._host(python, folder)
        self._count(1)
        try:
            return await host.try_change(entry, path, text, time_limit=time_limit)
        finally:
            self._count(-1)

    async def fit(
        self,
        entry: Entry,
        text: str,
        *,
        python: str | None,
        folder: str | None,
        time_limit: float,
    ) -> Fitted | Failed:
        """Look for example inputs of an entry of a file with this text; as above."""
        host = self._host(python, folder)
        self._count(1)
        try:
            return await host.fit(entry, text, time_limit=min(time_limit, _FIT_SECONDS))
        finally:
            self._count(-1)

    def _host(self, python: str | None, folder: str | None) -> Host:
        python = python or WorkerSettings.python
        host = self._hosts.get((python, folder))
        if host is None:
            settings = WorkerSettings(python=python, cwd=folder)
            host = self._hosts[python, folder] = Host(
                settings,
                on_printed=self._on_printed,
                on_status=lambda status: self._on_status(python, status),
                early=self._early and self._early.taken(python, folder),
            )
        return host

    def made_of(self, path: str) -> tuple[Entry, ...]:
        """The entries of other files whose last trace imported a file."""
        return tuple(
            entry
            for entry, sources in self._imported.values()
            if path in sources and entry.path != path
        )

    @property
    def unimported(self) -> tuple[Entry, ...]:
        """The entries whose last trace ended in an import that raised."""
        return tuple(self._unimported.values())

    def forget(self, path: str, kept: Iterable[str] = ()) -> None:
        """The entries of a file are gone, except those kept."""
        known = {*kept}
        keys = self._imported.keys() | self._unimported.keys()
        for key in [k for k in keys if k[0] == path and k[1] not in known]:
            self._imported.pop(key, None)
            self._unimported.pop(key, None)

    async def leave(self, folders: Collection[str]) -> None:
        """End the workers of folders that were closed."""
        keys = [key for key in self._hosts if key[1] in folders]
        hosts = [self._hosts.pop(key) for key in keys]
        await asyncio.gather(*(host.close() for host in hosts))

    async def close(self) -> None:
        """End the workers; traces are given up."""
        hosts = list(self._hosts.values())
        self._hosts.clear()
        self._broken.clear()
        if self._early is not None:
            self._early.close()
        await asyncio.gather(*(host.close() for host in hosts))
        self._on_health(self.health)

    @property
    def health(self) -> Health:
        return Health(next(iter(self._broken.values()), None), self._running)

    def _on_status(self, python: str, status: Status) -> None:
        if status.state is State.BROKEN:
            self._broken[python] = status
        elif status.state in (State.READY, State.IDLE):
            self._broken.pop(python, None)
        self._on_health(self.health)

    def _count(self, change: int) -> None:
        self._running += change
        self._on_health(self.health)
