"""Graphs that an `Interpreter` runs, whose breakpoints wait in vain: that is said."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.debugging.pydevd import DEBUGGER
from fxls.runtime.hooks import Hook, around
from fxls.runtime.torch_private import is_compiling

__all__ = ["InterpretedGraphs"]


class InterpretedGraphs:
    """Tells who waits at a breakpoint that a graph runs without its code."""

    def __init__(self, breakpoints: Breakpoints) -> None:
        self._breakpoints = breakpoints

    def hooks(self) -> tuple[Hook, ...]:
        """What runs graphs so; a Transformer does it by the same method."""
        return tuple(
            Hook(
                module,
                _WITHOUT,
                {"Interpreter.run": around(self._run, _WITHOUT)},
                once=DEBUGGER,
            )
            for module in ("torch.fx.interpreter", "fxls.engine.interpreter")
        )

    def _run(
        self, interpreter: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        self._note(interpreter)
        return (yield)

    def _note(self, interpreter: Any) -> None:
        module = interpreter.module
        # What torch runs of a graph while it compiles it, nobody has called.
        if is_compiling() or interpreter.graph is not getattr(module, "graph", None):
            return
        # Of a module whose code was not made yet there is no listing.
        code = getattr(type(module).__dict__.get("forward"), "__code__", None)
        if code is not None:
            name = type(interpreter).__name__
            self._breakpoints.interpreted(Path(code.co_filename), name)


_WITHOUT = "nobody is told that Interpreter.run stops at no breakpoint of a listing"
