"""Python's debugger, which steps from a call straight into the code that does the work.

``python -m fxls.pdb program.py`` is ``python -m pdb program.py`` with generated code in
files of the store; `fxls.set_trace` is ``pdb.set_trace``, for code and for
``PYTHONBREAKPOINT=fxls.set_trace``.
"""

from __future__ import annotations

import inspect
import linecache
import pdb  # noqa: T100 - this module is for debugging
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from fxls.engine.origins import resolve as origin
from fxls.engine.origins.from_frames import is_source
from fxls.runtime import install
from fxls.runtime.debugging import pydevd
from fxls.runtime.debugging.step_through import leads_on
from fxls.runtime.torch_private import is_compiled

__all__ = ["Pdb", "main", "stop_in_caller"]

_PLUMBING = [
    "contextlib",
    "fxls.engine.*",
    "fxls.runtime.*",
    "torch._compile",
    "torch._dynamo.*",
    "torch.fx.graph_module",
    "torch.fx._lazy_graph_module",
    "torch.nn.modules.module",
]
"""Between the call of a module and its forward there are up to twenty steps."""

_COMPILERS = ("torch._dynamo.", "torch._functorch.", "torch._inductor.")
"""They call much else before they call a graph."""


class Pdb(pdb.Pdb):
    """`pdb.Pdb` that steps over what torch and fxls do to call a module."""

    def __init__(self, *args: Any, skip: list[str] | None = None, **more: Any) -> None:
        super().__init__(*args, skip=[*_PLUMBING, *(skip or ())], **more)
        self._unsaid: set[str] = set()

    def stop_on(self, path: str, line: int) -> None:
        """Stop there the first time, with no word of the breakpoint that does it."""
        trouble: str | None = self.set_break(path, line, temporary=True)
        assert trouble is None, trouble
        self._unsaid |= {str(one.number) for one in self.get_breaks(path, line)}

    def do_clear(self, arg: str) -> bool | None:
        """Delete breakpoints; `bdb` calls it for a temporary one that was reached."""
        if arg not in self._unsaid:
            return super().do_clear(arg)
        self._unsaid.remove(arg)
        self.clear_bpbynumber(int(arg))
        return None

    def stop_here(self, frame: FrameType) -> bool:
        """Whether a step ends in a frame: not in what only leads to generated code."""
        stops = super().stop_here(frame)
        return stops and not (leads_on(frame) or _is_of_compiler(frame))

    def do_origin(self, _arg: str) -> None:
        """Print the lines of the model that the node on this line came from."""
        frame = self.curframe
        assert frame is not None, "pdb takes commands in a frame"
        found = None
        if is_source(frame.f_code):
            found = origin.resolve((frame.f_code, frame.f_lasti, None))
        if found is None:
            self.error("nobody knows where this line came from")
            return
        for place in reversed(found.places):
            line = place.span.start.line + 1
            self.message(f"> {place.path}({line}){place.function}()")
            self.message(f"-> {linecache.getline(place.path, line).strip()}")


def _is_of_compiler(frame: FrameType | None) -> bool:
    """Whether a frame is torch's compiler, or library code that it calls."""
    while frame is not None and not _is_file_of_user(frame):
        if str(frame.f_globals.get("__name__")).startswith(_COMPILERS):
            return True
        frame = frame.f_back
    return frame is not None and is_compiled(frame.f_code)


def _is_file_of_user(frame: FrameType) -> bool:
    # The engine takes installed packages for source, and code of a library's that is in
    # no file, as of a named tuple.
    code = frame.f_code
    name = code.co_filename
    return is_source(code) and not (name.startswith("<") or "site-packages" in name)


def stop_in_caller() -> None:
    """Stop where the function was called that calls this one.

    In the debugger that is connected, else in `Pdb`.
    """
    frame = inspect.currentframe()
    for _ in range(2):
        assert frame is not None, "the function that calls this one was called"
        frame = frame.f_back
    assert frame is not None, "as above"
    debugger = pydevd.connected()
    if debugger is None:
        Pdb().set_trace(frame)
    else:
        with pydevd.logging_unknown("set_trace does not stop"):
            debugger.stop_at(frame)


def main() -> None:
    """What ``python -m fxls.pdb`` does: `pdb`'s own main, with generated code in files."""
    arguments = sys.argv[1:]
    program = next((one for one in arguments if not one.startswith("-")), None)
    is_file = program is not None and Path(program).is_file()
    install(program=Path(program) if program and is_file else Path.cwd())
    pdb.Pdb = Pdb
    pdb.main()


if __name__ == "__main__":
    # pdb empties the namespace of the program that it runs in, so that is not ours.
    from fxls import pdb as ours

    ours.main()
