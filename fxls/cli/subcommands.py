"""The subcommands: how a command line is read, and which of them it means."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from fxls import __version__
from fxls.cli import (
    attach_command,
    bisect_command,
    check_command,
    compare_command,
    completion_command,
    debug_command,
    diff_command,
    doctor_command,
    import_command,
    list_command,
    passes_command,
    prune_command,
    remarks_command,
    report_command,
    run_command,
    runs_command,
    serve_command,
    trace_command,
)
from fxls.cli.command import ExitCode, say

if TYPE_CHECKING:
    from fxls.launching.python_arguments import PythonArguments

__all__ = ["run_subcommand"]


_DESCRIPTION = "PyTorch's generated code as source: see it, hover it, break in it."

_EPILOG = """\
examples:
  fxls trace net.py                                   every entry of the file
  fxls trace 'net.py:Net(3)(torch.randn(1, 3))'       this model, with these inputs
  fxls trace net.py --json | jq '.results[].listing'  for programs
  fxls run train.py --epochs 3                        your program, and its graphs
  fxls debug net.py --node relu                       stop in the generated code
  fxls attach 4711                                    debug a program that runs
  fxls list                                           what the store holds
  fxls runs                                           what ran, and what was compiled
  fxls remarks                                        what was not compiled, and where
  fxls check train.py                                 whether more is broken than before
  fxls compare train.py                               where its numbers go wrong
  fxls bisect --check checks.py:ok train.py           which step breaks your check
  fxls passes --first-gone add_37                     which pass removed a node
  fxls diff net.Net                                   what a new revision changed
  fxls import /tmp/trace                              what TORCH_TRACE logged elsewhere
  fxls report -1 -o report.html                       a run as a page, for an issue
  fxls doctor                                         what works in this Python
  fxls serve                                          the server that editors start
  fxls completion bash                                what your shell completes fxls by

An entry builds a model and calls it with example inputs. Write it into the file as a
comment and the file needs no expression on the command line:

  # fxls: Net(hidden=64)(torch.randn(1, 3))

exit codes:
  0  all is well
  1  the code could not be imported, traced or run: the message says where;
     of `fxls check`, something became worse; of `fxls compare`, somebody is at fault;
     of `fxls bisect`, a step broke it
  2  the command line is wrong; of `fxls compare`, nobody can say
  3  the store or baseline cannot be read or written, or the worker cannot be started

environment:
  FXLS_STORE  the folder of listings; else .fxls beside pyproject.toml or .git
"""


def run_subcommand(own: Sequence[str], python: PythonArguments) -> int:
    """Run the one that is named; returns what the process should end with.

    `own` are the arguments of fxls, and `python` those that `fxls run`, `fxls check`,
    `fxls compare` and `fxls bisect` give to Python.
    """
    parser, commands = _parser()
    if not own:
        parser.print_help()
        return ExitCode.OK
    unknown = _unknown(own, commands)
    if unknown is not None:
        say(unknown)
        return ExitCode.USAGE
    options = parser.parse_args(own, argparse.Namespace(python=python))
    if options.command is run_command.run:
        return options.command(options)  # which raises what the program raises
    try:
        code = options.command(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has enough; Python would complain at its own exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    return code


def _unknown(own: Sequence[str], commands: Collection[str]) -> str | None:
    """What to say of a command that there is not; None when it is one, or an option."""
    if own[0].startswith("-") or own[0] in commands:
        return None
    from difflib import get_close_matches

    near = get_close_matches(own[0], commands, 1)
    meant = f"did you mean `fxls {near[0]}`?" if near else _ALL
    return f"fxls: error: there is no command {own[0]!r}\nhelp: {meant}"


_ALL = "`fxls --help` shows the commands."


def _parser() -> tuple[argparse.ArgumentParser, Collection[str]]:
    """The parser, and the names of the commands."""
    parser = argparse.ArgumentParser(
        prog="fxls",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fxls {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    trace_command.add(commands)
    run_command.add(commands)
    debug_command.add(commands)
    attach_command.add(commands)
    list_command.add(commands)
    runs_command.add(commands)
    remarks_command.add(commands)
    check_command.add(commands)
    compare_command.add(commands)
    bisect_command.add(commands)
    passes_command.add(commands)
    diff_command.add(commands)
    import_command.add(commands)
    report_command.add(commands)
    prune_command.add(commands)
    doctor_command.add(commands)
    serve_command.add(commands)
    completion_command.add(commands, parser)
    names: Collection[str] = commands.choices
    return parser, names
