"""Python's debugger, which steps from a call straight into the code that does the work.

``python -m fxls.pdb program.py`` is ``python -m pdb program.py`` with generated code in
files of the store; `fxls.set_trace` is ``pdb.set_trace``, for code and for
``PYTHONBREAKPOINT=fxls.set_trace``.
"""

from __future__ import annotations

import fnmatch
import functools
import inspect
import linecache
import pdb  # noqa: T100 - this module is for debugging
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fxls.engine.origins import resolve as origin
from fxls.engine.origins.from_frames import is_source, is_source_file
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
    "torch.amp.autocast_mode",
    "torch.autograd.grad_mode",
    "torch.fx.graph_module",
    "torch.fx._lazy_graph_module",
    "torch.nn.modules.container",
    "torch.nn.modules.module",
    "torch.nn.parallel.*",
    "torch.utils._contextlib",
]
"""Between the call of a module and its forward there are up to twenty steps."""

_COMPILERS = ("torch._dynamo", "torch._functorch", "torch._inductor")
"""They call much else before they call a graph."""


class Pdb(pdb.Pdb):
    """`pdb.Pdb` that steps over what torch and fxls do to call a module."""

    def __init__(self, *args: Any, skip: list[str] | None = None, **more: Any) -> None:
        super().__init__(*args, skip=[*_PLUMBING, *(skip or ())], **more)
        self._unsaid: set[str] = set()
        self._compiler: FrameType | None = None
        """The outermost frame of torch's compiler, while it works during a step.

        It calls millions of functions, so none of them is asked for its callers.
        """

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """What Python calls at each call, and in frames that may be stopped in."""
        if self._compiler is not None:
            if event == "return" and frame is self._compiler:
                self._compiler = None
            elif event == "call" and not _is_file_of_user(frame):
                is_watched = self.break_anywhere(frame)
                return self.trace_dispatch if is_watched else None
        return super().trace_dispatch(frame, event, arg)

    def interaction(self, frame: FrameType | None, *more: Any, **named: Any) -> None:
        """Take commands; one of them may be the last that is traced."""
        self._compiler = None
        super().interaction(frame, *more, **named)

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
        if not super().stop_here(frame) or leads_on(frame):
            return False
        compiler = _compiler_of(frame)
        if compiler is not None:
            self._compiler = compiler
            if compiler.f_trace is None:
                compiler.f_trace = self.trace_dispatch  # for its return
                compiler.f_trace_lines = False
        return compiler is None and not _is_between(frame)

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


def _compiler_of(frame: FrameType) -> FrameType | None:
    """The outermost frame of torch's compiler, or of what it calls, between a frame and
    the user's code.
    """
    found = None
    at: FrameType | None = frame
    while at is not None and not _is_file_of_user(at):
        name = str(at.f_globals.get("__name__"))
        if name.startswith(_COMPILERS):
            found = at
        frame, at = at, at.f_back
    if at is not None and at is not frame and is_compiled(at.f_code):
        return frame  # Dynamo stands on the function that it compiles
    return found


def _is_between(frame: FrameType) -> bool:
    """Whether a frame is of what torch and fxls call on the way to a forward.

    From code of theirs that calls forwards and hooks, these are what a step leads to.
    """
    inner: FrameType | None = frame
    while inner is not None and not _is_file_of_user(inner):
        outer = inner.f_back
        leads = outer is not None and _is_plumbing(outer) and not _is_plumbing(inner)
        if leads and not _is_work(inner.f_code):
            return True
        inner = outer
    return False


def _is_plumbing(frame: FrameType) -> bool:
    return _is_plumbing_named(str(frame.f_globals.get("__name__")))


@functools.lru_cache(4096)
def _is_plumbing_named(module: str) -> bool:
    return any(fnmatch.fnmatchcase(module, pattern) for pattern in _PLUMBING)


def _is_work(code: CodeType) -> bool:
    """Whether code that is not the user's is what a module was called for."""
    if code.co_name == "forward":
        return True
    return is_source(code) and not code.co_filename.startswith("<")


def _is_file_of_user(frame: FrameType) -> bool:
    return _is_users(frame.f_code.co_filename)


@functools.lru_cache(4096)
def _is_users(path: str) -> bool:
    # The engine takes installed packages for source, and code of a library's that is in
    # no file, as of a named tuple.
    is_installed = path.startswith("<") or "site-packages" in path
    return not is_installed and is_source_file(path)


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
