"""What takes long to read or to compute for the first time, and is made in a thread.

Whoever answers a message asks for it here. Where it is not made yet, the answer is given
up, and begun again when a thread has made it; so the code in between need not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

from fxls.serving.asides import Asides

__all__ = [
    "MANY_NODES",
    "Attempts",
    "MadeFirst",
    "NotYetMade",
    "begun_for_good",
    "can_begin_again",
    "made_first",
    "note_reading",
    "read_first",
]

_T = TypeVar("_T")

MANY_NODES = 4_000
"""Nodes of a listing for which a table, or a look at each of them, takes 5 ms."""

_BYTES = 1 << 20
"""Bytes of files of a store that are read in 10 ms."""

_FILE = 25_000
"""As many bytes are read while a file is found and opened."""


_OFTEN = 20
"""An answer waits for a listing, its tables and what is wrong in it, and seldom for more."""


class NotYetMade(BaseException):
    """An answer needs what is not made yet; whoever began it makes that first.

    No `Exception`, because what is in between, and pygls, would take it for a fault.
    """

    def __init__(self, key: Hashable, make: Callable[[], object]) -> None:
        super().__init__(key)
        self.key, self.make = key, make


class _TakesLong(BaseException):
    """More is to be read than there is time for."""


@dataclass(slots=True)
class Attempts:
    """One message or request, each time that its answer is begun.

    - What was made for it is as new as the message: it is used, and nobody looks again.
    - It is begun again so often and no more; then all is made at once.
    """

    made: dict[Hashable, asyncio.Future[Any]] = field(
        default_factory=dict[Hashable, "asyncio.Future[Any]"]
    )
    begun: int = 0
    is_running: bool = False
    """Whether somebody is there to begin again; what an answer starts outlives it."""
    left: int | None = None
    """Bytes that may still be read at once; None while nothing is read here."""

    @contextmanager
    def run(self) -> Generator[None]:
        """Let what is asked inside raise `NotYetMade`."""
        token = _ATTEMPTS.set(self)
        self.begun += 1
        self.is_running = self.begun < _OFTEN
        try:
            yield
        finally:
            self.is_running = False
            _ATTEMPTS.reset(token)


_ATTEMPTS = ContextVar[Attempts | None]("attempts", default=None)


def can_begin_again() -> bool:
    """Whether the answer that is being made can be given up and begun again."""
    return _running() is not None


def begun_for_good() -> None:
    """What is done from here on is done once: the answer is not begun again."""
    attempts = _running()
    if attempts is not None:
        attempts.is_running = False


def made_first(key: Hashable, make: Callable[[], _T]) -> _T:
    """What `make` gives, which takes long: it is called in a thread.

    Here it is called where an answer cannot be begun again. `key` tells it from others.
    """
    attempts = _running()
    if attempts is None:
        return make()
    made = attempts.made.get(key)
    if made is None:
        raise NotYetMade(key, make)
    return cast("_T", made.result())


def read_first(key: Hashable, read: Callable[[], _T]) -> _T:
    """What `read` reads from a store; in a thread, where that takes long."""
    attempts = _running()
    if attempts is None:
        return read()
    if key not in attempts.made:
        attempts.left = _BYTES
        try:
            return read()
        except _TakesLong:
            pass
        finally:
            attempts.left = None
    return made_first(key, read)


def note_reading(size: int) -> None:
    """Take note that a file of a store is about to be read; so `read_first` knows."""
    attempts = _running()
    if attempts is not None and attempts.left is not None:
        attempts.left -= size + _FILE
        if attempts.left < 0:
            raise _TakesLong


class MadeFirst:
    """What is being made now, for one client: once, however many wait for it."""

    def __init__(self, asides: Asides) -> None:
        self._asides = asides
        self._making: dict[Hashable, asyncio.Future[Any]] = {}

    def make(self, wanted: NotYetMade, attempts: Attempts) -> Awaitable[object]:
        """Make what an answer needs; done when that can be begun again."""
        making = self._making.get(wanted.key)
        if making is None:
            making = asyncio.ensure_future(self._asides.run(_alone, wanted.make))
            self._making[wanted.key] = making
            making.add_done_callback(partial(self._is_made, wanted.key))
            # What another message began may be older than what this one is about: when
            # that is there, it is looked for as if it were kept.
            attempts.made[wanted.key] = making
        # What it raises is raised where it is asked for again.
        return asyncio.wait([making])

    def _is_made(self, key: Hashable, making: asyncio.Future[Any]) -> None:
        del self._making[key]
        if not making.cancelled():
            # Who was given up asks no more; asyncio would complain of that.
            making.exception()


def _running() -> Attempts | None:
    attempts = _ATTEMPTS.get()
    return attempts if attempts is not None and attempts.is_running else None


def _alone(make: Callable[[], _T]) -> _T:
    """Make something in a thread, which has a copy of whose context it began in."""
    _ATTEMPTS.set(None)
    return make()
