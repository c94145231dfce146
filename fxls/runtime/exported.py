"""The programs that torch.export makes are listings, with what their inputs are."""

from __future__ import annotations

import functools
import sys
from typing import Any

from fxls.on_import import OnImport
from fxls.runtime.captures import Capture, hushed, note_capture
from fxls.runtime.guarded import guarded
from fxls.runtime.patches import Patches

__all__ = ["Exported", "note_program"]


class Exported:
    """What makes listings of exported programs, while it is put in."""

    def __init__(self) -> None:
        self._waiting: list[OnImport] = []

    def put_in(self, patches: Patches) -> None:
        """Make listings from now on, as soon as torch.export is imported."""
        self._when("torch.export.exported_program", "ExportedProgram", patches)
        self._when("torch.export._trace", "_export", patches)

    def take_out(self) -> None:
        """Wait for no import any more."""
        for waiting in self._waiting:
            waiting.stop()
        self._waiting.clear()

    def _when(self, module: str, name: str, patches: Patches) -> None:
        def act() -> None:
            with guarded("programs of torch.export are no listings"):
                owner: Any = sys.modules[module]
                found = getattr(owner, name)
                if isinstance(found, type):
                    kind: Any = found
                    patches.put(kind, "__init__", _init(kind.__init__))
                else:
                    patches.put(owner, name, _quiet(found))

        waiting = OnImport(module, act)
        self._waiting.append(waiting)
        waiting.start()


def note_program(program: Any) -> Any:
    """Let the listing of a program's graph say what the program is; returns its module."""
    signature = program.graph_signature
    lines = ["Inputs:"]
    lines += [_line(spec) for spec in signature.input_specs]
    lines.append("Outputs:")
    lines += [_line(spec) for spec in signature.output_specs]
    note_capture(program.graph_module, Capture("torch.export", header=tuple(lines)))
    return program.graph_module


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def init(program: Any, *args: Any, **kwargs: Any) -> None:
        with hushed():  # torch compiles the graph before it is known what it is
            original(program, *args, **kwargs)
        with guarded("a program of torch.export is no listing"), hushed(when=False):
            note_program(program).recompile()

    return init


def _quiet(original: Any) -> Any:
    """A function of torch's in which the graphs on the way are no listings."""

    @functools.wraps(original)
    def export(*args: Any, **kwargs: Any) -> Any:
        with hushed():
            return original(*args, **kwargs)

    return export


def _line(spec: Any) -> str:
    kind = spec.kind.name.lower().replace("_", " ")
    name = getattr(spec.arg, "name", None) or repr(getattr(spec.arg, "value", "?"))
    return f"  {name}: {kind}" + (f" {spec.target}" if spec.target else "")
