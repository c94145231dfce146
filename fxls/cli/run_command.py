"""`fxls run`: a program, with listings of every graph that it makes."""

from __future__ import annotations

import argparse
import os

from fxls.cli.command import Commands, add_command, add_store

__all__ = ["add", "run"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    from fxls.launch import EPILOG, SUMMARY, USAGE

    parser = add_command(commands, "run", SUMMARY, EPILOG)
    parser.usage = USAGE
    parser.set_defaults(command=run, usage=parser)
    add_store(parser)


def run(options: argparse.Namespace) -> int:
    """`fxls run`: become the program, with the runtime to be turned on in it."""
    from fxls.launch import become

    program: list[str] = options.program
    if not program or program == ["-m"]:
        options.usage.error("say which file or module to run")
    become(program, options.store, os.environ)
