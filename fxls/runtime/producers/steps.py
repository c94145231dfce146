"""The steps of a compiler in which passes run, for who wants to see each of those."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from fxls.runtime.producers.capture import Capture

__all__ = ["InStep", "Step", "in_any_step"]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a compilation."""

    compilation: str
    """torch's name of it, as ``1/0``."""
    capture: Capture
    """What is said of the graph that the step makes."""


InStep = Callable[[Any, Step | None], AbstractContextManager[Callable[[Any], None]]]
"""For as long as a step works on a module; without one, on a part of that module.

What it gives is to be called with the module as the step leaves it.
"""


@contextlib.contextmanager
def in_any_step(_module: Any, _step: Step | None) -> Generator[Callable[[Any], None]]:
    """Where nobody wants to see passes."""
    yield lambda _: None
