"""`fxls attach`: a program that runs already can be debugged."""

from __future__ import annotations

import argparse
import os

from fxls.cli.command import Commands, ExitCode, add_command, completed, say
from fxls.cli.listen_option import add_listen, check_listen

__all__ = ["add", "attach"]

_EPILOG = """\
examples:
  fxls attach 4711
  fxls attach 4711 --listen 5678

The program goes on. An editor attaches on the port that is printed. It takes what
debugpy takes to get into a process: on Linux gdb, and the right to trace the process.
A program that was started with `fxls run --listen PORT --no-wait` needs neither.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "attach", "let a program that runs listen for a debugger", _EPILOG
    )
    parser.set_defaults(command=attach)
    pid = parser.add_argument(
        "pid", metavar="PID", type=int, help="the program's process"
    )
    completed(pid, "word")
    add_listen(parser, "where the program shall listen (default: a port that is free)")


def attach(options: argparse.Namespace) -> int:
    """`fxls attach`: put a debugger into a process."""
    from fxls.launching.attach import put_debugger_into
    from fxls.launching.listening import free

    check_listen(options)
    where = options.listen or free()
    problem = put_debugger_into(options.pid, where, os.environ)
    if problem is not None:
        say(f"fxls: error: {problem}")
        return ExitCode.TROUBLE
    print(f"process {options.pid} can be debugged on {where}")
    return ExitCode.OK
