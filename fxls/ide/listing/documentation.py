"""Where a target's documentation is on the web."""

from __future__ import annotations

import re

__all__ = ["page_of"]

_TORCH = "https://docs.pytorch.org/docs/stable/generated"
_PYTHON = "https://docs.python.org/3/library"


def page_of(name: str) -> str | None:
    """The page of a function, method or class by the name it is imported by.

    None where there is no page to be expected: for what is not public, and for other
    libraries.
    """
    parts = name.split(".")
    if any(part.startswith("_") for part in parts) or not name.isascii():
        return None
    if re.fullmatch(
        r"torch(\.(nn|nn\.functional|Tensor|fft|linalg|special))?\.\w+", name
    ):
        return f"{_TORCH}/{name}.html"
    if parts[0] in ("operator", "math") and len(parts) == 2:
        return f"{_PYTHON}/{parts[0]}.html#{name}"
    return None
