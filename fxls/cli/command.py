"""What the subcommands share: exit codes, options, and the way they speak."""

from __future__ import annotations

import argparse
import enum
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxls.report import Sources
    from fxls.store import StoreError

__all__ = [
    "Code",
    "Commands",
    "add_command",
    "add_store",
    "say",
    "seconds",
    "sources_here",
    "warn",
]


class Code(enum.IntEnum):
    """What the process ends with."""

    OK = 0
    TROUBLE = 1
    USAGE = 2
    SYSTEM = 3
    INTERRUPTED = 130


Commands = Any
"""What `add_subparsers` returns, which argparse keeps private."""


def add_command(
    commands: Commands, name: str, summary: str, epilog: str = ""
) -> argparse.ArgumentParser:
    """A subcommand with its summary; returns the parser that takes its options."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """The option `--store`, whose default is FXLS_STORE."""
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        default=os.environ.get("FXLS_STORE") or None,
        help="the folder of listings (default: FXLS_STORE, or .fxls in the project)",
    )


def seconds(text: str) -> float:
    """A number above 0, as the type of an option."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number


def sources_here() -> Sources:
    """The sources that are quoted, their paths shown from the current folder."""
    from fxls.report import Sources

    return Sources(Path.cwd())


def warn(error: StoreError) -> None:
    """Say what is wrong with the store, where the work goes on."""
    say(f"fxls: warning: {error.path}: {error.problem}\nhelp: {error.advice}")


def say(text: str) -> None:
    """Print to standard error, at once."""
    print(text, file=sys.stderr, flush=True)
