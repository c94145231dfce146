"""Which files a person writes, and in which project, and which came with an interpreter
or a package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from fxls.store import locate

__all__ = [
    "is_installed",
    "is_own",
    "package_path",
    "project_of",
    "workspace_folder_of",
]

_PACKAGES = {"site-packages", "dist-packages"}
_STANDARD = re.compile(r"[/\\]lib(64)?[/\\]python\d[^/\\]*[/\\]", re.IGNORECASE)
_OURS = os.path.join(os.path.dirname(os.__file__), "")  # noqa: PTH118, PTH120


def is_installed(path: str) -> bool:
    """Whether a file is of a package that was installed, or of Python itself."""
    parts = re.split(r"[/\\]", path)
    return (
        not _PACKAGES.isdisjoint(parts)
        or _STANDARD.search(path) is not None
        or path.startswith(_OURS)
    )


def is_own(path: str) -> bool:
    """Whether a person can change a file."""
    return not is_installed(path)


def package_path(path: str) -> str | None:
    """The path of an installed file from where packages, or Python's own modules, are;
    None for a file that is not installed.
    """
    if not is_installed(path):
        return None
    parts = re.split(r"[/\\]", path)
    for at in range(len(parts) - 1, 0, -1):
        if parts[at - 1] in _PACKAGES:
            return "/".join(parts[at:])
    standard = [*_STANDARD.finditer(path)]
    start = standard[-1].end() if standard else len(_OURS)
    return path[start:].replace("\\", "/")


def project_of(path: str, folders: Iterable[str]) -> Path:
    """The folder of the project of a file, in a workspace of these folders."""
    return locate(Path(path), workspace_folder_of(path, folders)).parent


def workspace_folder_of(path: str, folders: Iterable[str]) -> str | None:
    """The innermost of the folders of a workspace that a file lies in."""
    around = [folder for folder in folders if Path(path).is_relative_to(folder)]
    return max(around, key=len, default=None)
