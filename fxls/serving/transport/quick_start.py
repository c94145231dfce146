"""A quick start: what makes the imports of the server take less than they would.

Imports the standard library alone at once, because it has to come before all others.
"""

from __future__ import annotations
import __future__

import atexit
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
from typing import Any

from fxls.serving.transport.late_classes import made_when_needed

__all__ = ["quick_imports"]


@contextmanager
def quick_imports() -> Generator[None]:
    """For as long as the body imports, nothing is done that need not be done.

    - The garbage collector rests: imports make objects that stay.
    - The classes of lsprotocol are made when they are first needed.
    - What dataclasses, attrs and cattrs write as text is compiled once for this version
      of Python, not at every start: that is a fifth of it. For attrs and cattrs this
      holds behind the body too, as a type of the protocol is made when it is needed.
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
    """Let what compiles text take code of an earlier start, which is in a file.

    They find our functions because a name of a module goes before a builtin; where
    another version of them compiles elsewhere, nothing is gained or lost.
    """
    import dataclasses  # noqa: PLC0415 - after the collector was disabled

    kept = _CompiledCode(path)
    dataclasses.__dict__["exec"] = kept.execute
    for name in ("attr._make", "cattrs.gen"):
        importlib.import_module(name).__dict__["compile"] = kept.compile
    atexit.register(kept.write)
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
        exec(self._code(source, "<string>", 0), names, into)

    def compile(
        self, source: Any, filename: Any, mode: str, *more: Any, **options: Any
    ) -> Any:
        """`compile`, for the methods of attrs and the functions of cattrs."""
        is_plain = mode == "exec" and isinstance(source, str) and not (more or options)
        # attrs writes a number into `__hash__` that is another one at each start.
        if not is_plain or "def __hash__" in source:
            as_it_is: Any = compile
            return as_it_is(source, filename, mode, *more, **options)
        # attrs and cattrs import it, so that it holds for the text that they compile.
        return self._code(source, filename, __future__.annotations.compiler_flag)

    def _code(self, source: str, filename: str, flags: int) -> CodeType:
        question = f"{filename}\0{flags}\0{source}"
        key = blake2b(question.encode(), digest_size=16).digest()
        code = self._known.get(key)
        if code is None:
            self._missed = True
            code = compile(source, filename, "exec", flags, dont_inherit=True)
        self._used[key] = code
        return code

    def write(self) -> None:
        """Keep what was compiled, where anything was."""
        if self._path is None or not self._missed:
            return
        self._missed = False
        # Another session may need what this one did not, or not yet.
        kept = {**self._known, **self._used}
        if len(kept) > _MOST:
            kept = self._used
        temporary = self._path.with_suffix(f".{os.getpid()}")
        # A folder that may not be written to costs the time, and no more.
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(marshal.dumps((_FORMAT, kept)))
            temporary.replace(self._path)


_FORMAT = importlib.util.MAGIC_NUMBER

_MOST = 4_000
"""So many texts are kept at most, of which a start needs 750."""


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
