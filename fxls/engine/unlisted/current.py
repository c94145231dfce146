"""What the running transform of this thread has said."""

from __future__ import annotations

from typing import Any

from fxls.engine import traceback

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """The value at this moment."""
    if name == "current_meta":
        return traceback.get_current_meta()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
