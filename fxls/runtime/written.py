"""Values of the user's as a short text that is the same in every run."""

from __future__ import annotations

import re

__all__ = ["written"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def written(value: object, longest: int) -> str:
    """The `repr` of a value on one line, without addresses, cut to `longest`."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the user's method, and a graph is worth no less
        text = f"<{type(value).__name__}, whose repr raises>"
    text = _ADDRESS.sub("", " ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
