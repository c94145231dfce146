"""Numbers of things in messages: `1 pass`, `2,000 passes`."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number, and what there are so many of; `plural` where it has more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
