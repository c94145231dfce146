"""Values of the user's as a short text that is the same in every run."""

from __future__ import annotations

import re

from fxls.attempt import Raised, attempt

__all__ = ["written"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def written(value: object, longest: int) -> str:
    """The `repr` of a value on one line, without addresses, cut to `longest`."""
    text = attempt(lambda: repr(value))
    if isinstance(text, Raised):
        text = f"<{type(value).__name__}, whose repr raises>"
    text = _ADDRESS.sub("", " ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
