"""What a person at a terminal is told while something takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Progress"]

_PATIENCE = 1.0
"""Seconds before anything is said."""
_TICK = 0.2
_WHEEL = "|/-\\"


class Progress:
    """A line on a stream that says what is being waited for.

    - Silent for the first second.
    - A terminal shows a line that changes and goes away; any other stream gets each
      text once.
    - Whoever else writes to the stream does so through `write`, by whole lines.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._text = ""
        self._said = ""
        self._drawn = False
        self._turns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._started = 0.0

    @contextmanager
    def waiting(self, text: str) -> Generator[None]:
        """For as long as the body runs, this is what is waited for."""
        loop = asyncio.get_running_loop()
        self._text = text
        self._started = loop.time()
        self._timer = loop.call_later(_PATIENCE, self._tick)
        try:
            yield
        finally:
            self._timer.cancel()
            self._timer = None
            self._erase()

    def change(self, text: str) -> None:
        """It is something else that is waited for."""
        self._text = text

    def write(self, text: str) -> None:
        self._erase()
        self._stream.write(text)
        self._stream.flush()

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        if self._is_terminal:
            self._turns += 1
            seconds = int(loop.time() - self._started)
            wheel = _WHEEL[self._turns % len(_WHEEL)]
            self._erase()
            self._stream.write(f"{wheel} {self._text} ({seconds} s)")
            self._stream.flush()
            self._drawn = True
        elif self._said != self._text:
            self._said = self._text
            self._stream.write(f"fxls: {self._text} ...\n")
            self._stream.flush()
        self._timer = loop.call_later(_TICK, self._tick)

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._drawn = False
