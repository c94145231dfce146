"""A program in the process that is there, as Python would run it in one of its own.

Starting Python takes as long as all else that `fxls run` does. What is different from a
process of its own: a program that looks at its stack finds calls of fxls below itself.
Python's debuggers, which people look at, do not show them.
"""

from __future__ import annotations

import os
import sys

from fxls import regular_file
from fxls.first_graph import is_awaited
from fxls.on_import import OnImport

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType, FrameType, TracebackType
    from typing import Any

__all__ = ["run_here"]


def run_here(program: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Run ``FILE ...`` or ``-m MODULE ...``; whether that was done, and is over.

    What only Python itself can run, or say what is wrong with, is left to it. What the
    program raises is raised, and printed as Python prints it.
    """
    # -P keeps files of the current folder from being what runs instead of fxls. In what
    # a program under fxls starts, something waits for a graph on behalf of that program.
    if sys.flags.safe_path or sys.flags.inspect or is_awaited():
        return False
    run = _of_module(program) if program[0] == "-m" else _of_file(program)
    if run is None:
        return False
    from fxls.launching.beginning import begin  # noqa: PLC0415 - for a run alone

    os.environ.update(environment)
    sys.orig_argv = [sys.executable, *program]
    sys.argv = list(program)
    _leave_path()
    begin()
    run()
    return True


def _of_file(program: Sequence[str]) -> Callable[[], None] | None:
    """Runs a file of Python source; None for everything else, and for what has faults."""
    # As Python does it, the path is not normalized.
    path = os.path.join(os.getcwd(), program[0])  # noqa: PTH109, PTH118  # pathlib takes long to import
    code = _compiled(path)
    if code is None:
        return None

    def run() -> None:
        # As `importlib.machinery` has it, whose import takes a moment.
        from _frozen_importlib_external import SourceFileLoader  # noqa: PLC0415

        names = _new_main(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120  # as above
        names["__file__"] = path
        names["__loader__"] = SourceFileLoader("__main__", path)
        _run(exec, code, names)

    return run


def _compiled(path: str) -> CodeType | None:
    if path.endswith(".pyc"):
        return None
    try:
        source = regular_file.read(path, regular_file.SOURCE_BYTES)
        # Perhaps a zip file, which Python runs as a folder.
        is_text = b"\0" not in source
        return compile(source, path, "exec", dont_inherit=True) if is_text else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_module(program: Sequence[str]) -> Callable[[], None]:
    """Runs a module, as ``python -m`` does."""

    def run() -> None:
        import runpy  # noqa: PLC0415 - for a module alone

        _new_main(os.getcwd())  # noqa: PTH109  # pathlib takes long to import
        sys.argv[:2] = ["-m"]
        as_main: Any = runpy
        _run(as_main._run_module_as_main, program[1])

    return run


def _leave_path() -> None:
    """Take the folder of the script that started fxls from the path."""
    script = os.path.realpath(getattr(sys.modules["__main__"], "__file__", None) or "")
    if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(script):  # noqa: PTH120  # pathlib takes long to import
        sys.path.pop(0)


def _new_main(folder: str) -> dict[str, Any]:
    """The names of a new ``__main__``, whose own modules are in a folder."""
    before = sys.modules["__main__"]
    main = type(before)("__main__")
    names = vars(main)
    names["__loader__"] = sys.modules["builtins"].__loader__
    names["__builtins__"] = sys.modules["builtins"]
    # Which of these Python makes depends on its version.
    own: dict[str, Any] = {"__annotations__": {}, "__cached__": None}
    names.update({name: own[name] for name in own if name in vars(before)})
    sys.modules["__main__"] = main
    sys.path.insert(0, folder)
    _forget_shadowed(folder)
    return names


def _forget_shadowed(folder: str) -> None:
    """Let the program import its own modules, and not what fxls imported before it."""
    try:
        own = {name.partition(".")[0] for name in os.listdir(folder)}  # noqa: PTH208  # as above
    except OSError:
        return
    own &= sys.stdlib_module_names - {"encodings"}  # which Python imports at its start
    for name, module in list(sys.modules.items()):
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        if name.partition(".")[0] in own and origin not in ("built-in", "frozen"):
            del sys.modules[name]


def _run(call: Callable[..., object], *args: object) -> None:
    """Call it; an error that nobody handles is printed as if nobody had called."""
    _end_stacks_of_debuggers()
    try:
        call(*args)
    except SystemExit:
        raise
    except BaseException:
        own = sys.excepthook

        def hook(
            kind: type[BaseException],
            error: BaseException,
            traceback: TracebackType | None,
        ) -> None:
            sys.excepthook = own
            left = _below(traceback)
            error.__traceback__ = sys.last_traceback = left
            own(kind, error, left)

        sys.excepthook = hook
        raise


def _below(traceback: TracebackType | None) -> TracebackType | None:
    """What of a traceback is the program's."""
    while traceback is not None:
        is_border = traceback.tb_frame.f_code is _run.__code__
        traceback = traceback.tb_next
        if is_border:
            break
    return traceback


def _end_stacks_of_debuggers() -> None:
    """Let pdb, once it is there, take the program's first frame for the outermost."""
    below: list[CodeType] = []
    own: Any = sys
    frame: FrameType | None = own._getframe(1)  # `inspect` takes long to import
    while frame is not None:
        below.append(frame.f_code)
        frame = frame.f_back

    def end_stacks() -> None:
        from fxls.launching.debugger_stacks import end_at  # noqa: PLC0415 - for pdb

        end_at(below)

    OnImport("bdb", end_stacks).start()
