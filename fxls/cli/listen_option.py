"""The option `--listen` of the subcommands that start a program."""

from __future__ import annotations

import argparse

from fxls.cli.command import ExitCode, say

__all__ = ["add_listen", "check_listen"]


def add_listen(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option, which `text` explains."""
    parser.add_argument("--listen", metavar="[HOST:]PORT", type=_address, help=text)


def check_listen(options: argparse.Namespace) -> None:
    """End, and say why, when the program cannot listen as asked."""
    from fxls.launching.listening import missing, trouble

    if options.listen is not None:
        problem = missing() or trouble(options.listen)
        if problem is not None:
            say(f"fxls: error: {problem}")
            raise SystemExit(ExitCode.SYSTEM)


def _address(text: str) -> object:
    from fxls.launching.listening import address

    try:
        return address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
