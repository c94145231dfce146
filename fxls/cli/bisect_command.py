"""`fxls bisect`: the first step of a compiler behind which a predicate does not hold."""

from __future__ import annotations

import argparse
import ast
import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    add_command,
    add_store,
    harmless,
    number_of,
    say,
)

if TYPE_CHECKING:
    from fxls.launching.python_arguments import PythonArguments
    from fxls.verdicts.bisection import Bisection

__all__ = ["add", "bisect"]

_GOOD, _BAD, _SKIPPED = 0, 1, 125
"""What `git bisect run` takes for good, for bad, and for what cannot be tested."""

_MOST_BYTES = 4 << 20

_EPILOG = """\
examples:
  fxls bisect --check checks.py:keeps_order train.py --epochs 1
  fxls bisect --check package.checks:no_float64 -m package.train
  git bisect run fxls bisect --check checks.py:keeps_order train.py

The program runs once, compiled, and ends. Then the function is called with each graph, as
each step of the compiler left it, and with copies of the inputs of its first call:

  def keeps_order(gm, inputs):
      first, second, *_ = gm(*inputs)
      assert (first <= second).all()

A graph is bad where it raises AssertionError or returns False, cannot be tested where it
raises something else, and is good otherwise.

It ends with 0 when all graphs are good, with 1 when a step made one bad, and with 125 when
nobody can say. docs/numbers.md says which graphs there are.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "bisect",
        "say which step of a compiler breaks what a function of yours checks",
        _EPILOG,
    )
    parser.usage = (
        "fxls bisect --check CHECK [OPTION ...] {FILE | -m MODULE} [ARGUMENT ...]"
    )
    parser.set_defaults(command=bisect, usage=parser)
    parser.add_argument(
        "--check",
        required=True,
        metavar="CHECK",
        help="the function that is asked: FILE.py:FUNCTION, or module:function",
    )
    parser.add_argument(
        "--memory",
        type=number_of("MB"),
        default=4000.0,
        metavar="MB",
        help="the most that copies of inputs may take (default: 4000)",
    )
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)


def bisect(options: argparse.Namespace) -> int:
    """`fxls bisect`: run a program in a process of its own, and ask of its graphs."""
    from fxls.cli.followed_program import follow, followed, unclear
    from fxls.cli.reports.bisect_report import bisect_as_json, bisect_text
    from fxls.verdicts.bisection import decode

    python: PythonArguments = options.python
    problem = unclear(python)
    if problem is not None:
        options.usage.error(problem)
    problem = _wrong_check(options.check)
    if problem is not None:
        # `git bisect run` may be at a commit that does not have the function.
        say(f"fxls: error: {problem}")
        return _SKIPPED
    if options.into is not None:
        judge = functools.partial(_judged, check=options.check)
        return follow(options, python, judge)
    # The program may change its folder before the file is read.
    file, _, function = options.check.rpartition(":")
    is_file = file.endswith(".py")
    check = f"{Path(file).absolute()}:{function}" if is_file else options.check
    try:
        found = followed("bisect", ["--check", check], options, python, decode)
    except SystemExit:
        return _SKIPPED
    if options.json:
        print(json.dumps(bisect_as_json(found)))
    else:
        print(harmless(bisect_text(found)))
    return _BAD if found.found else _GOOD if found.is_good else _SKIPPED


def _wrong_check(check: str) -> str | None:
    """What is wrong with the name of a function, as far as it is known without torch."""
    from fxls import regular_file

    file, colon, function = check.rpartition(":")
    if not colon or not file or not function.isidentifier():
        return f"{check!r} names no function: write FILE.py:FUNCTION or module:function"
    if not file.endswith(".py"):
        return None
    try:
        tree = ast.parse(regular_file.read(Path(file), _MOST_BYTES))
    except (OSError, ValueError, SyntaxError) as error:
        return f"{file} cannot be read: {error}"
    has = any(getattr(one, "name", "") == function for one in tree.body)
    return None if has else f"{file} has no function {function} at its top level"


def _judged(raised: str | None, *, check: str) -> bytes:
    """Ask of what was kept, if the program made any graph."""
    from fxls.verdicts.bisection import Bisection, encode

    found: Bisection = Bisection(1, (), (), 0, 0, "", raised)
    if "torch" in sys.modules:
        from fxls.runtime import installing

        installation = installing.current()
        if installation is not None and installation.numbers is not None:
            from fxls.runtime.numbers.bisecting import bisected, loaded

            predicate = loaded(check)
            if isinstance(predicate, str):
                found = Bisection(1, (), (), 0, 0, predicate, raised)
            else:
                kept = installation.numbers.compilations
                found = bisected(kept, predicate, raised)
    return encode(found)
