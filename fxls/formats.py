"""How a reader says that what it was given has another format than the one it reads."""

from __future__ import annotations

from fxls._version import __version__

__all__ = ["other_format"]


def other_format(found: int, read: int) -> str:
    """What is wrong with format `found`, for a reader that reads format `read` alone.

    A part of a sentence: what has the format stands before it.
    """
    age = "a newer" if found > read else "an older"
    return f"has format {found}, from {age} fxls; this one, {__version__}, reads format {read}"
