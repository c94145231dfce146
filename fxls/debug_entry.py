"""The program that an editor debugs: an entry is traced and called, and stops there.

``python -m fxls.debug_entry FILE:EXPRESSION`` calls the generated code from the line on
which the entry stands, so that stack and stepping are those of a program of the user's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

import torch

from fxls.engine import GraphModule, symbolic_trace
from fxls.entry import Entry
from fxls.listing import Failure
from fxls.runtime import install
from fxls.runtime.pydevd import Breakpoint, connected
from fxls.store import StoreError, locate
from fxls.targets import entries_of, target_of
from fxls.worker.evaluate import Inputs, Refused, evaluate
from fxls.worker.load import home_of, load

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Trace an entry and call it; returns what the process should end with."""
    options = _parser().parse_args(arguments)
    entry = _entry(options.target)
    if isinstance(entry, str):
        return _refuse(entry)
    path = Path(entry.path)
    store = options.store or locate(path)
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # torch's gap
    try:
        install(store)
        text = path.read_text("utf-8", errors="replace")
        module = load(home_of(path), locate(path).parent)
        model = evaluate(entry, module, text)
    except Refused as refused:
        return _refuse(_said(refused.failure))
    except (OSError, StoreError) as error:
        return _refuse(str(error))
    if model.inputs is None:
        return _refuse(
            f"`{entry.expression}` has no example inputs, so there is nothing to run\n"
            "help: Call the model in the entry: `Net()(torch.randn(1, 3))`."
        )
    generated = model.root
    if not isinstance(generated, GraphModule):
        generated = symbolic_trace(model.root)
    if options.stop:
        _stop_in(generated)
    _call(entry, module, generated, model.inputs)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fxls.debug_entry",
        description="Traces an entry and calls the generated code, for a debugger.",
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="FILE:EXPRESSION")
    parser.add_argument(
        "--store", metavar="FOLDER", help="the folder of listings (default: .fxls)"
    )
    parser.add_argument(
        "--stop", action="store_true", help="stop on the first line of the code"
    )
    return parser


def _entry(text: str) -> Entry | str:
    """The entry that is meant, where it stands in its file; or what is wrong."""
    target = target_of(text)
    if isinstance(target, str):
        return target
    entries, failures = entries_of(type(target)(target.path, None))
    if target.expression is None:
        return entries[0] if entries else _said(failures[0])
    for entry in entries:
        if entry.expression == target.expression:
            return entry
    (entry,) = entries_of(target)[0]
    return entry


def _stop_in(generated: GraphModule) -> None:
    """Let the debugger stop once on the first line of the generated forward.

    The client does not know of it, and shows no breakpoint.
    """
    debugger = connected()
    if debugger is None:
        return
    code: CodeType = type(generated).forward.__code__
    lines = {line for _, _, line in code.co_lines() if line is not None}
    first = min(lines - {code.co_firstlineno})
    once = Breakpoint(0, code.co_filename, first, _ONCE)
    debugger.copy(once, code.co_filename, first)


def _call(
    entry: Entry, module: ModuleType, generated: GraphModule, inputs: Inputs
) -> None:
    """Call it from the line of the entry; what it raises is the program's."""
    line = 1 if entry.span is None else entry.span.start.line + 1
    text = "\n" * (line - 1) + "gm(*inputs.args, **inputs.kwargs)"
    code = compile(text, entry.path, "exec", dont_inherit=True)
    names = {**vars(module), "gm": generated, "inputs": inputs}
    exec(code, names)


def _said(failure: Failure) -> str:
    return "\nhelp: ".join(filter(None, (failure.message, failure.advice)))


def _refuse(message: str) -> int:
    print(f"fxls: error: {message}", file=sys.stderr)  # noqa: T201  # a command line
    return 1


_ONCE = ("python-line", None, "None", None, "NONE", "@HIT@ == 1", False)
"""Neither condition nor message, suspending what the session suspends, the first time."""

if __name__ == "__main__":
    sys.exit(main())
