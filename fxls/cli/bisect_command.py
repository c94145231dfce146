"""`fxls bisect`: the first step of a compiler behind which a predicate does not hold."""

from __future__ import annotations

import argparse
import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    add_command,
    add_store,
    harmless,
    need_torch,
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
  fxls bisect --settings train.py              without which part of torch it is right
  fxls bisect --commits v1.2..HEAD train.py    which commit made its numbers wrong

The program runs once, compiled, and ends. Then the function is called with each graph, as
each step of the compiler left it, and with copies of the inputs of its first call:

  def keeps_order(gm, inputs):
      first, second, *_ = gm(*inputs)
      assert (first <= second).all()

A graph is bad where it raises AssertionError or returns False, where gm.graph.lint()
raises, and where the graph raises but the one before does not. It cannot be tested where
the function raises something else, and is good otherwise.

With --settings or --commits the program runs again and again: under other settings of
torch, or as it was in other commits. Without --check these ask whether its numbers are
right, as `fxls compare` does, and whether it ends without an error.

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
        "fxls bisect [--check CHECK] [--settings | --commits GOOD..BAD] [OPTION ...]"
        " {FILE | -m MODULE} [ARGUMENT ...]"
    )
    parser.set_defaults(command=bisect, usage=parser)
    parser.add_argument(
        "--check",
        metavar="CHECK",
        help="the function that is asked: FILE.py:FUNCTION, or module:function",
    )
    over = parser.add_mutually_exclusive_group()
    over.add_argument(
        "--settings",
        action="store_true",
        help="search the settings of torch under which nothing is bad any more",
    )
    over.add_argument(
        "--commits",
        metavar="GOOD..BAD",
        help="search these commits of the program's repository for the first bad one",
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
    is_over = options.settings or options.commits
    problem = unclear(python)
    if problem is None and options.check is None and not is_over:
        problem = "say --check, --settings or --commits, and say it before the program"
    if problem is not None:
        options.usage.error(problem)
    problem = None if options.check is None else _wrong_check(options.check)
    if problem is not None:
        # `git bisect run` may be at a commit that does not have the function.
        say(f"fxls: error: {problem}")
        return _SKIPPED
    if options.into is not None:
        judge = functools.partial(_judged, check=str(options.check))
        return follow(options, python, judge)
    try:
        need_torch()
    except SystemExit:
        return _SKIPPED
    if is_over:
        return _over(options, python)
    check = _absolute(str(options.check))
    try:
        found = followed("bisect", ["--check", check], options, python, decode)
    except SystemExit:
        return _SKIPPED
    if options.json:
        print(json.dumps(bisect_as_json(found)))
    else:
        print(harmless(bisect_text(found)))
    return _BAD if found.found else _GOOD if found.is_good else _SKIPPED


def _over(options: argparse.Namespace, python: PythonArguments) -> int:
    """Run the program under other settings, or of other commits."""
    from fxls.cli.reports.search_report import (
        commits_as_json,
        commits_text,
        settings_as_json,
        settings_text,
    )
    from fxls.cli.searches.commits import GitError, first_bad
    from fxls.cli.searches.searched_settings import search_settings
    from fxls.cli.searches.trials import Trials

    asked = ["compare"]
    if options.check is not None:
        asked = ["bisect", "--check", _absolute(options.check)]
    asked += ["--memory", str(options.memory)]
    if options.store is not None:
        asked += ["--store", str(options.store)]
    trials = Trials(asked, python.flags, python.program, os.environ)
    if options.settings:
        searched = search_settings(trials)
        as_json, text = settings_as_json(searched), settings_text(searched)
        is_found, is_good = bool(searched.found), searched.is_good
    else:
        try:
            commits, outcome = first_bad(trials, options.commits)
        except (GitError, ValueError) as error:
            say(f"fxls: error: {error}")
            return _SKIPPED
        as_json = commits_as_json(commits, outcome, trials)
        text = commits_text(commits, outcome, trials)
        is_found, is_good = outcome is not None, False
    print(json.dumps(as_json) if options.json else harmless(text))
    return _BAD if is_found else _GOOD if is_good else _SKIPPED


def _absolute(check: str) -> str:
    """A check whose file is found from every folder: the program may change its own."""
    file, _, function = check.rpartition(":")
    is_file = file.endswith(".py")
    return f"{Path(file).absolute()}:{function}" if is_file else check


def _wrong_check(check: str) -> str | None:
    """What is wrong with the name of a function, as far as it is known without torch."""
    import ast

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
    from fxls.cli.followed_program import watched
    from fxls.verdicts.bisection import Bisection, encode

    found: Bisection = Bisection(1, (), (), 0, 0, "", raised)
    installation = watched()
    if installation is not None and installation.numbers is not None:
        from fxls.runtime.numbers.bisecting import bisected, loaded

        predicate = loaded(check)
        if isinstance(predicate, str):
            found = Bisection(1, (), (), 0, 0, predicate, raised)
        else:
            kept = installation.numbers.compilations
            found = bisected(kept, predicate, raised)
    return encode(found)
