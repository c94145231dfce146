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


def locate(start: str, around: str | None = ".") -> str:
    """The store root for a source file or folder; it need not exist.

    `.fxls` in the nearest parent that holds pyproject.toml, .git or .fxls; else in the
    parent that is `around`, the folder that a person works in; else in the folder itself.
    Symbolic links stay as they are spelled, because debuggers and editors compare
    spellings.
    """
    start = os.path.abspath(start)  # noqa: PTH100  # resolve() follows links
    folder = start if os.path.isdir(start) else os.path.dirname(start)  # noqa: PTH112, PTH120  # as below
    parents = _with_parents(folder)
    for parent in parents:
        # Not Path.exists, because Path.exists raises for a folder that may not be searched.
        if any(os.path.exists(os.path.join(parent, one)) for one in _MARKERS):  # noqa: PTH110, PTH118  # pathlib takes long to import
            return os.path.join(parent, FOLDER)  # noqa: PTH118  # as above
    if around is not None and _may_hold_a_store(around):
        same = (parent for parent in parents[:-1] if _is_same(parent, around))
        folder = next(same, folder)
    return os.path.join(folder, FOLDER)  # noqa: PTH118  # as above


def _may_hold_a_store(folder: str) -> bool:
    """Whether a store there is of one person, and of one project.

    All that lies below is part of the project. So it is no home or above it, and no
    folder that anybody may write, as that for temporary files.
    """
    try:
        mode = os.stat(folder).st_mode  # noqa: PTH116  # as above
    except OSError:
        return False
    is_anybodys = os.name != "nt" and mode & 0o002 != 0  # there it says nothing
    homes = _with_parents(os.path.expanduser("~"))  # noqa: PTH111  # as above
    return not is_anybodys and not any(_is_same(folder, home) for home in homes)


def _with_parents(folder: str) -> list[str]:
    found = [folder]
    while (parent := os.path.dirname(found[-1])) != found[-1]:  # noqa: PTH120  # as above
        found.append(parent)
    return found


def _is_same(folder: str, other: str) -> bool:
    try:
        return os.path.samefile(folder, other)  # noqa: PTH121  # as above
    except OSError:
        return False
