"""The command line: `fxls trace`, `fxls run`, `fxls debug`, `fxls serve` and the others.

One module for each subcommand; each loads only what it needs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns what the process should end with."""
    given = sys.argv[1:] if arguments is None else arguments
    from fxls.launching.launch import become, locked_out
    from fxls.launching.python_arguments import split

    own, python = split(given)
    if own == ["run"] and python.is_whole and locked_out(python.letters) is None:
        # A program without an option of fxls need not wait for a parser.
        return become(python.program, os.environ, flags=python.flags)
    from fxls.cli.subcommands import run_subcommand

    return run_subcommand(own, python)
