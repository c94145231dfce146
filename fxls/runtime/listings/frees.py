"""Where generated code lets a value go: ``relu = None``, behind its last use."""

from __future__ import annotations

import re

__all__ = ["freed_in", "without_frees"]

_WORD = r"[^\W\d]\w*"
_FREES = re.compile(rf";  ((?:{_WORD} = )+)None$", re.M)
_NAME = re.compile(_WORD)


def without_frees(source: str) -> str:
    """The same code, whose values live until the function returns."""
    return _FREES.sub("", source)


def freed_in(source: str) -> set[str]:
    """The names whose values code lets go."""
    return {name for row in _FREES.findall(source) for name in _NAME.findall(row)}
