"""Where a file of a project on another machine lies here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

__all__ = ["in_folders"]


def in_folders(folders: Callable[[], Iterable[str]], project: str, path: str) -> str:
    """The file of the same place in a folder of the workspace; else the path itself."""
    if path.startswith(project):
        rest = path.removeprefix(project).split("/")
        for folder in folders():
            here = os.path.join(folder, *rest)  # noqa: PTH118 - for each of many
            if os.path.exists(here):  # noqa: PTH110 - quicker
                return here
    return path
