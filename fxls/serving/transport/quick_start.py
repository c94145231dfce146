"""A quick start: what makes the imports of the server take less than they would.

Imports the standard library alone, because it has to come before all others.
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

__all__ = ["quick_imports"]


@contextmanager
def quick_imports() -> Generator[None]:
    """For as long as the body imports, nothing is done that need not be done.

    - The garbage collector rests: imports make objects that stay.
    - The methods that attrs writes for the five hundred classes of lsprotocol, and
      those that dataclasses have, are compiled once for this version of Python, not at
      every start: that is half the time of lsprotocol's import, and a tenth of the
      rest.
    - Those methods get no copy of all names of lsprotocol each.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with _compiled_once(_cache()), _without_copies():
            yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextmanager
def _compiled_once(path: Path | None) -> Generator[None]:
    """Let attrs and dataclasses take code of an earlier start, which is in a file.

    They find our functions because a name of a module goes before a builtin; where
    another version of them compiles elsewhere, nothing is gained or lost.
    """
    import dataclasses  # noqa: PLC0415 - after the collector was disabled

    import attr._make as maker  # noqa: PLC0415 - as above

    kept = _CompiledCode(path)
    maker.__dict__["compile"] = kept.compile_method
    dataclasses.__dict__["exec"] = kept.execute
    try:
        yield
    finally:
        del maker.__dict__["compile"]
        del dataclasses.__dict__["exec"]
        kept.write()


@contextmanager
def _without_copies() -> Generator[None]:
    """Let attrs think that the module of the classes is not there yet.

    It gives the methods of each class the names of its whole module, so that
    `typing.get_type_hints` can be asked about ``__init__``: with five hundred classes
    that is ten megabytes and a fifth of the import. cattrs asks about the classes.
    """
    import attr._make as maker  # noqa: PLC0415 - after the collector was disabled

    maker.__dict__["sys"] = _Sys()
    try:
        yield
    finally:
        maker.__dict__["sys"] = sys


class _Modules:
    """`sys.modules` without lsprotocol's types."""

    def __contains__(self, name: str) -> bool:
        return name != "lsprotocol.types" and name in sys.modules

    def __getitem__(self, name: str) -> object:
        return sys.modules[name]


class _Sys:
    modules = _Modules()

    def __getattr__(self, name: str) -> object:
        return getattr(sys, name)


class _CompiledCode:
    """Compiled code by the hash of its source and the name of that, kept in a file.

    Nothing of it can be out of date, and Python says in which format the code is.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: Mapping[bytes, CodeType] = _read(path) if path else {}
        self._used: dict[bytes, CodeType] = {}
        self._missed = False

    def compile_method(self, source: str, file: str, mode: str) -> CodeType:
        """`compile`, for the methods of attrs."""
        if "lsprotocol" not in file:
            # A class that can be hashed has a number in its source that no other
            # process has.
            return compile(source, file, mode)
        return self._compiled(source, file)

    def execute(
        self, source: str, names: dict[str, object], into: dict[str, object]
    ) -> None:
        """`exec`, for the methods of dataclasses."""
        exec(self._compiled(source, "<string>"), names, into)

    def _compiled(self, source: str, file: str) -> CodeType:
        key = blake2b(f"{file}\0{source}".encode(), digest_size=16).digest()
        code = self._known.get(key)
        if code is None:
            self._missed = True
            code = compile(source, file, "exec", dont_inherit=True)
        self._used[key] = code
        return code

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
