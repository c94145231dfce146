"""The option `--listen` of the subcommands that start a program, and what it opens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fxls.cli.command import ExitCode, say

if TYPE_CHECKING:
    from fxls.launching.listening import Address

__all__ = ["add_listen", "check_listen", "warn_of_exposure"]


def add_listen(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option, which `text` explains."""
    parser.add_argument("--listen", metavar="[HOST:]PORT", type=_address, help=text)


def check_listen(options: argparse.Namespace) -> None:
    """End, and say why, when the program cannot listen as asked.

    Where it can, and others get there, that is said.
    """
    if options.listen is None:
        return
    from fxls.launching.listening import missing, trouble

    problem = missing() or trouble(options.listen)
    if problem is not None:
        say(f"fxls: error: {problem}")
        raise SystemExit(ExitCode.SYSTEM)
    warn_of_exposure(options.listen)


def warn_of_exposure(wanted: Address) -> None:
    """Say what somebody opens who lets other machines in."""
    from fxls.launching.listening import exposure

    warning = exposure(wanted)
    if warning is not None:
        say(f"fxls: warning: {warning}")


def _address(text: str) -> object:
    from fxls.launching.listening import address

    try:
        return address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
