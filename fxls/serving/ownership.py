"""Which files a person writes, and which came with an interpreter or a package."""

from __future__ import annotations

import os
import re

__all__ = ["is_installed"]

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
