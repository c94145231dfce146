"""What is computed aside, in threads, so that requests meanwhile are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["Asides"]

P = ParamSpec("P")
T = TypeVar("T")


class Asides:
    """Runs functions in threads, and knows whether one runs.

    While one computes, each look at the disk waits until that leaves the interpreter to
    others: a thousand looks take fifty milliseconds then, and five else.
    """

    def __init__(self) -> None:
        self._running = 0

    @property
    def are_running(self) -> bool:
        """Whether anything is computed in a thread now."""
        return self._running > 0

    async def run(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What a function returns that asks no state of the server."""
        self._running += 1
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            self._running -= 1
