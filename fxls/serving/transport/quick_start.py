"""A quick start: what makes the imports of the server take less than they would.

Imports the standard library alone at once, because it has to come before all others.
"""

from __future__ import annotations

import gc
import importlib.util
import marshal
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import CodeType

from fxls.serving.transport.late_classes import made_when_needed

__all__ = ["quick_imports"]


@contextmanager
def quick_imports() -> Generator[None]:
    """For as long as the body imports, nothing is done that need not be done.

    - The garbage collector rests: imports make objects that stay.
    - The classes of lsprotocol are made when they are first needed.
    - The methods of dataclasses are compiled once for this version of Python, not at
      every start: that is a tenth of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with _compiled_once(_cache()), made_when_needed():
            yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextmanager
def _compiled_once(path: Path | None) -> Generator[None]:
    """Let dataclasses take code of an earlier start, which is in a file.

    They find our function because a name of a module goes before a builtin; where
    another version of them compiles elsewhere, nothing is gained or lost.
    """
    import dataclasses  # noqa: PLC0415 - after the collector was disabled

    kept = _CompiledCode(path)
    dataclasses.__dict__["exec"] = kept.execute
    try:
        yield
    finally:
        del dataclasses.__dict__["exec"]
        kept.write()


class _CompiledCode:
    """Compiled code by the hash of its source, kept in a file.

    Nothing of it can be out of date, and Python says in which format the code is.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: Mapping[bytes, CodeType] = _read(path) if path else {}
        self._used: dict[bytes, CodeType] = {}
        self._missed = False

    def execute(
        self, source: str, names: dict[str, object], into: dict[str, object]
    ) -> None:
        """`exec`, for the methods of dataclasses."""
        key = blake2b(source.encode(), digest_size=16).digest()
        code = self._known.get(key)
        if code is None:
            self._missed = True
            code = compile(source, "<string>", "exec", dont_inherit=True)
        self._used[key] = code
        exec(code, names, into)

    def write(self) -> None:
        """Keep what was used, where that is not what was kept."""
        if self._path is None or not self._missed:
            return
        temporary = self._path.with_suffix(f".{os.getpid()}")
        # A folder that may not be written to costs the time, and no more.
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(marshal.dumps((_FORMAT, self._used)))
            temporary.replace(self._path)


_FORMAT = importlib.util.MAGIC_NUMBER


def _read(path: Path) -> Mapping[bytes, CodeType]:
    try:
        version, known = marshal.loads(path.read_bytes())
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known if version == _FORMAT else {}


def _cache() -> Path | None:
    """Where Python itself keeps what it compiled of this file."""
    if sys.dont_write_bytecode:
        return None
    return Path(importlib.util.cache_from_source(__file__)).with_suffix(".methods")
