"""Where the store of a source or a folder is.

Every program under `fxls run` asks this before it begins; so it imports next to nothing.
"""

from __future__ import annotations

import os

__all__ = ["FOLDER", "is_url", "locate"]

FOLDER = ".fxls"

_MARKERS = ("pyproject.toml", ".git", FOLDER)


def is_url(store: str) -> bool:
    """Whether a store is named by a URL, as ``ssh://host/folder/.fxls``."""
    return "://" in store


def locate(start: str) -> str:
    """The store root for a source file or folder; it need not exist.

    `.fxls` in the nearest parent that holds pyproject.toml, .git or .fxls; else in
    the folder itself. Symbolic links stay as they are spelled, because debuggers and
    editors compare spellings.
    """
    start = os.path.abspath(start)  # noqa: PTH100  # resolve() follows links
    folder = start if os.path.isdir(start) else os.path.dirname(start)  # noqa: PTH112, PTH120  # as below
    parent, below = folder, ""
    while parent != below:
        # Not Path.exists, because Path.exists raises for a folder that may not be searched.
        if any(os.path.exists(os.path.join(parent, one)) for one in _MARKERS):  # noqa: PTH110, PTH118  # pathlib takes long to import
            return os.path.join(parent, FOLDER)  # noqa: PTH118  # as above
        parent, below = os.path.dirname(parent), parent  # noqa: PTH120  # as above
    return os.path.join(folder, FOLDER)  # noqa: PTH118  # as above
