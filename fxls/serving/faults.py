"""The server's handler wrapper: a fault of ours is logged, and never ends a session."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["task_with_faults_logged", "with_faults_logged"]

_log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def with_faults_logged(handler: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """A handler whose fault is logged, and answered as if there were nothing."""

    @wraps(handler)
    def answer(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        with _fault_logged(handler.__name__):
            return handler(*args, **kwargs)
        return None

    return answer


def task_with_faults_logged(
    handler: Callable[_P, Awaitable[_R]],
) -> Callable[_P, Awaitable[_R | None]]:
    """`with_faults_logged` for a handler that waits."""

    @wraps(handler)
    async def answer(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        with _fault_logged(handler.__name__):
            return await handler(*args, **kwargs)
        return None

    return answer


@contextmanager
def _fault_logged(name: str) -> Generator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001  # a fault of ours must not end the session
        _log.exception("%s failed", name)
