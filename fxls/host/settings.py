"""How a worker is started, and what its host says of it."""

from __future__ import annotations

import enum
import os
import sys
from dataclasses import dataclass, field

from fxls.host.early_worker import JOBS

__all__ = ["State", "Status", "WorkerSettings"]


def _three_quarters() -> int | None:
    """Of the memory of this machine; None where it does not say."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


@dataclass(frozen=True)
class WorkerSettings:
    """How the worker is started."""

    python: str = sys.executable
    """The user's interpreter."""
    cwd: str | None = None
    """The folder that the user's code runs in; None is the host's own."""
    jobs: int = JOBS
    """How many traces run at a time."""
    memory_limit: int | None = field(default_factory=_three_quarters)
    """Bytes of address space that a trace may add; None for no limit."""
    options: tuple[str, ...] = ()
    """More options of ``python -m fxls.worker``."""
    start_limit: float = 60.0
    """Seconds that the import of torch may take."""


class State(enum.Enum):
    IDLE = "idle"
    """No worker was asked for yet, or the last one was closed."""
    STARTING = "starting"
    READY = "ready"
    TRACING = "tracing"
    BROKEN = "broken"
    """The interpreter does not start a worker; the next request tries again."""


@dataclass(frozen=True, slots=True)
class Status:
    """What the host is doing, for a person to read."""

    state: State
    message: str
    advice: str | None = None
