"""What pydevd knows of each code object, found without reading the code.

From Python 3.12 on, pydevd asks at each line of a function for what it knows of the
code, in a dict of code objects. The hash of one is made anew each time, of all of its
bytecode: 50 µs for 1,000 lines, at each of them.

Raises what `fxls.runtime.debugging.pydevd.logging_unknown` catches where this debugpy is
another one.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from fxls.runtime.patches import Patches

__all__ = ["find_codes_at_once"]


def find_codes_at_once(patches: Patches) -> None:
    """Let a line of a long function cost what one of a short function does."""
    if sys.version_info < (3, 12):
        return  # it has no such dict there
    public: Any = sys.modules["_pydevd_sys_monitoring.pydevd_sys_monitoring"]
    # Compiled or not: the public module has the names of the one that is in use.
    used: Any = sys.modules[public.start_monitoring.__module__]
    used._code_to_func_code_info_cache.get  # noqa: B018 - raises where it has none
    patches.put(used, "_code_to_func_code_info_cache", _ByIdentity())


_MOST = 10_000
"""So many are kept alive: each module has a copy of its code, equal to those of others."""


class _ByIdentity:
    """As much of a dict of code objects as pydevd uses; equal ones are two."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[CodeType, object]] = {}
        """With the code, so that its id stays its own."""

    def get(self, code: CodeType) -> object:
        found = self._found.get(id(code))
        return None if found is None else found[1]

    def __setitem__(self, code: CodeType, known: object) -> None:
        if len(self._found) == _MOST:
            self._found.clear()  # pydevd finds out again what it needs
        self._found[id(code)] = (code, known)
