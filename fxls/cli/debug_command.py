"""`fxls debug`: the generated code of an entry, in a debugger."""

from __future__ import annotations

import argparse
import os

from fxls.cli.command import (
    Commands,
    add_command,
    add_store,
    completed,
    need_torch,
)
from fxls.cli.listen_option import add_listen, check_listen

__all__ = ["add", "debug"]

_EPILOG = """\
examples:
  fxls debug net.py
  fxls debug 'net.py:Net(3)(torch.randn(1, 3))' --node relu_1
  fxls debug net.py --listen 5678

The model of the entry is traced, called with the example inputs, and stopped in the
generated forward: in pdb, in this terminal; with --listen in the editor, or whatever
speaks the debug adapter protocol, that attaches.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "debug", "stop in the generated code of an entry", _EPILOG
    )
    parser.set_defaults(command=debug)
    target = parser.add_argument(
        "target",
        metavar="FILE[:EXPRESSION]",
        help="a Python file, and the expression that builds the model and calls it "
        "(default: the first entry of the file)",
    )
    completed(target, "file")
    parser.add_argument(
        "--node", metavar="NAME", help="where to stop (default: on the first node)"
    )
    add_listen(parser, "wait there for a debugger, instead of pdb in this terminal")
    add_store(parser)


def debug(options: argparse.Namespace) -> int:
    """`fxls debug`: become the program that traces the entry and calls it."""
    from fxls.launching.launch import execute
    from fxls.launching.listening import under_debugger

    check_listen(options)
    need_torch()
    program = ["-m", "fxls.debug_entry", "--stop"]
    if options.node is not None:
        program += ["--node", options.node]
    if options.store is not None:
        program += ["--store", str(options.store)]
    if options.listen is None:
        program += ["--pdb", options.target]
    else:
        program.append(options.target)
        program = under_debugger(options.listen, program, waits=True)
    # No file of the current folder is to run instead of fxls, or of what it imports.
    execute(["-P", *program], os.environ)
