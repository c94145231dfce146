"""The subcommands: how a command line is read, and which of them it means."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from fxls import __version__
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
    if not own:
        _parser(_COMMANDS).print_help()
        return ExitCode.OK
    unknown = _unknown(own)
    if unknown is not None:
        say(unknown)
        return ExitCode.USAGE
    # All modules and their options together take a thirtieth of the start of the server.
    is_enough = own[0] in _COMMANDS and own[0] != _OF_ALL
    parser = _parser((own[0],) if is_enough else _COMMANDS)
    options = parser.parse_args(own, argparse.Namespace(python=python))
    if own[0] == "run":
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


def _unknown(own: Sequence[str]) -> str | None:
    """What to say of a command that there is not; None when it is one, or an option."""
    if own[0].startswith("-") or own[0] in _COMMANDS:
        return None
    from difflib import get_close_matches

    near = get_close_matches(own[0], _COMMANDS, 1)
    meant = f"did you mean `fxls {near[0]}`?" if near else _ALL
    return f"fxls: error: there is no command {own[0]!r}\nhelp: {meant}"


_ALL = "`fxls --help` shows the commands."


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of these commands."""
    parser = argparse.ArgumentParser(
        prog="fxls",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fxls {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        module = import_module(f"fxls.cli.{name}_command")
        if name == _OF_ALL:
            module.add(commands, parser)
        else:
            module.add(commands)
    return parser


_COMMANDS = (
    *("trace", "run", "debug", "attach", "list", "runs", "remarks", "check", "compare"),
    *("bisect", "passes", "diff", "import", "report", "prune", "doctor", "serve"),
    "completion",
)
"""In the order of the help; each is a module of this folder."""

_OF_ALL = "completion"
"""What has to know of the options of all others."""
