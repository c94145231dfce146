"""Who made a graph of torch's FX, when it was not traced by its own `symbolic_trace`."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

__all__ = ["Capture", "capture_of", "note_capture"]


@dataclass(frozen=True, slots=True)
class Capture:
    """What a producer says of a graph that it gives to be a listing."""

    producer: str
    stage: str = ""
    root: tuple[str, str] | None = None
    """Module and qualified name of what was captured, where the producer knows."""
    header: tuple[str, ...] = ()
    """Lines about this graph, for the comment above its code."""


def note_capture(module: Any, capture: Capture) -> None:
    """Let the listings of a graph module say this."""
    _captures[module] = capture


def capture_of(module: Any) -> Capture:
    """What is known of who made the graph of a module."""
    return _captures.get(module, _PLAIN)


_PLAIN = Capture("torch.fx")
_captures: weakref.WeakKeyDictionary[Any, Capture] = weakref.WeakKeyDictionary()
