"""`fxls run`: a program, with listings of every graph that it makes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    completed,
    say,
)
from fxls.cli.listen_option import add_listen, check_listen

if TYPE_CHECKING:
    from fxls.launching.listening import Address
    from fxls.launching.python_arguments import PythonArguments

__all__ = ["add", "run"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    from fxls.launching.launch import EPILOG, SUMMARY, USAGE

    parser = add_command(commands, "run", SUMMARY, EPILOG)
    parser.usage = USAGE
    parser.set_defaults(command=run, usage=parser)
    add_store(parser)
    break_on = parser.add_argument(
        "--break-on",
        metavar="RULE",
        action="append",
        default=[],
        type=_rules,
        help="stop at the first node whose value breaks a rule, or report it:"
        " nan, inf, shape, dtype-change, grad-nan; several with commas",
    )
    completed(break_on, "rule")
    parser.add_argument(
        "--on-break",
        choices=("report", "raise"),
        default="report",
        help="what to do without a debugger: report and go on (the default),"
        " or raise fxls.rules.BrokenRule",
    )
    parser.add_argument(
        "--keep-values",
        action="store_true",
        help="write listings that keep every value until the forward returns",
    )
    parser.add_argument(
        "--record",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="keep what torch.compile does, and could not do, for `fxls runs`, or do not"
        " (default: FXLS_RECORD, else do)",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="measure each kernel that inductor wrote; `fxls runs` says the times",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="do not say at the end how many listings there are, as fxls does on a"
        " terminal",
    )
    add_listen(parser, "let the program listen there for a debugger")
    parser.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="with --listen: begin when a debugger is there (the default), or at once",
    )


def run(options: argparse.Namespace) -> int:
    """`fxls run`: become the program, with the runtime to be turned on in it."""
    from fxls.launching.launch import become, locked_out

    python: PythonArguments = options.python
    problem = _unclear(python, listens=options.listen is not None)
    if problem is not None:
        options.usage.error(problem)
    problem = locked_out(python.letters)
    if problem is not None:
        say(f"fxls: error: {problem}")
        raise SystemExit(ExitCode.USAGE)
    check_listen(options)
    is_recorded = options.record
    if is_recorded is None:
        is_recorded = os.environ.get("FXLS_RECORD") != "0"
    if options.times and not is_recorded:
        options.usage.error(
            "--times needs the record, which holds the times: leave out --no-record,"
            " or say --record where FXLS_RECORD is 0"
        )
    more: dict[str, str] = {}
    if options.break_on:
        more["FXLS_BREAK_ON"] = ",".join(options.break_on)
        more["FXLS_ON_BREAK"] = options.on_break
    if options.record is not None:
        more["FXLS_RECORD"] = "1" if options.record else "0"
    if options.times:
        more["FXLS_TIMES"] = "1"
    if options.keep_values:
        more["FXLS_KEEP_VALUES"] = "1"
    where: Address | None = options.listen
    return become(
        python.program,
        os.environ,
        flags=python.flags,
        store=options.store and str(options.store),
        is_quiet=options.quiet,
        more=more,
        wrapped=where and (lambda program: _debugged(where, options.wait, program)),
    )


def _unclear(python: PythonArguments, *, listens: bool) -> str | None:
    """What is wrong with a command line; None when a program can be run by it."""
    if not python.is_whole:
        return "name the file or the module to run"
    if listens and (python.program[0] == "-" or "x" in python.letters):
        what = "-x" if "x" in python.letters else "a program from standard input"
        return f"a debugger cannot start {what}: leave out --listen, or name a file"
    return None


def _debugged(where: Address, waits: bool, program: Sequence[str]) -> Sequence[str]:  # noqa: FBT001  # private
    from fxls.launching.listening import under_debugger

    return under_debugger(where, program, waits=waits)


def _rules(text: str) -> str:
    """Names of rules, as the type of an option."""
    from fxls.rules import rules_of

    try:
        return ",".join(rule.value for rule in rules_of([text]))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
