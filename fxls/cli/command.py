"""What the subcommands share: exit codes, options, and the way they speak."""

from __future__ import annotations

import argparse
import enum
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from fxls.cli.report import Sources
    from fxls.store import StoreError

__all__ = [
    "Commands",
    "ExitCode",
    "Troubles",
    "add_command",
    "add_store",
    "add_store_to_read",
    "bold",
    "chosen_or_located",
    "completed",
    "failed",
    "harmless",
    "is_colored",
    "need_torch",
    "number_of",
    "say",
    "sources_here",
    "warn",
]


class ExitCode(enum.IntEnum):
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
    """The option `--store`, whose default is FXLS_STORE: a folder to write to."""
    chosen = os.environ.get("FXLS_STORE") or None
    _add_store(
        parser,
        _folder,
        "FOLDER",
        # What the editor reads on another machine; what is written here lies here.
        None if chosen and _is_url(chosen) else chosen,
        "the folder of listings (default: FXLS_STORE, or .fxls in the project)",
    )


def add_store_to_read(parser: argparse.ArgumentParser) -> None:
    """The option `--store`, which may name a store on another machine as well."""
    _add_store(
        parser,
        _folder_or_copy,
        "FOLDER|URL",
        os.environ.get("FXLS_STORE") or None,
        "the folder of listings, or the URL of one on another machine, as "
        "ssh://host/folder/.fxls (default: FXLS_STORE, or .fxls in the project)",
    )


def _add_store(
    parser: argparse.ArgumentParser,
    kind: Callable[[str], Path],
    metavar: str,
    default: str | None,
    text: str,
) -> None:
    store = parser.add_argument(
        "--store", type=kind, metavar=metavar, default=default, help=text
    )
    completed(store, "directory")


def completed(
    argument: argparse.Action, kind: Literal["file", "directory", "rule", "word"]
) -> None:
    """Let shells complete an argument; a word is what they know nothing of."""
    # shtab looks for it there, and argparse declares no such attribute.
    vars(argument)["complete"] = kind


def _folder(text: str) -> Path:
    if _is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is on another machine, and listings can only be read there"
        )
    return Path(text)


def _folder_or_copy(text: str) -> Path:
    """The folder; of a URL, that of a copy, which is made as new as the original."""
    if not _is_url(text):
        return Path(text)
    from fxls.store import StoreError
    from fxls.store.remote import Mirror, Unreachable, copies

    mirror = Mirror(text, copies())
    try:
        mirror.pull()
    except (StoreError, Unreachable) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return mirror.root


def _is_url(text: str) -> bool:
    from fxls.store import is_url

    return is_url(text)


def number_of(unit: str) -> Callable[[str], float]:
    """A number of these above 0, as the type of an option."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            message = f"{text!r} is not a number of {unit} above 0"
            raise argparse.ArgumentTypeError(message)
        return value

    return number


def chosen_or_located(chosen: Path | None) -> Path:
    """The store that is to be read, by default that of the current folder.

    Ends, and says so, where a place was chosen that holds none.
    """
    from fxls.store import locate

    root = chosen or locate(Path.cwd())
    if root.exists() and not root.is_dir():
        say(
            f"fxls: error: {root.absolute()} is not a folder\nhelp: Move the file away."
        )
        raise SystemExit(ExitCode.SYSTEM)
    if chosen is not None and not root.exists():
        say(
            f"fxls: error: there is no store {root.absolute()}\n"
            "help: Check --store, or FXLS_STORE; a program that runs under "
            "`fxls run --store FOLDER` makes one."
        )
        raise SystemExit(ExitCode.SYSTEM)
    return root


def sources_here() -> Sources:
    """The sources that are quoted, their paths shown from the current folder."""
    from fxls.cli.report import Sources

    return Sources(Path.cwd())


def bold(text: str) -> str:
    """A text in bold, on a terminal."""
    return f"\x1b[1m{text}\x1b[0m"


def is_colored(stream: TextIO) -> bool:
    """Whether a stream is to have colours: as NO_COLOR and FORCE_COLOR say, else on a
    terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def failed(error: StoreError) -> ExitCode:
    """Say what is wrong with the store, where nothing can go on; what it then ends with."""
    say(f"fxls: error: {error}")
    return ExitCode.SYSTEM


def warn(error: StoreError) -> None:
    """Say what is wrong with the store, where the work goes on."""
    say(f"fxls: warning: {error.path}: {error.problem}\nhelp: {error.advice}")


class Troubles:
    """Says what is wrong with a store, for a command that goes on."""

    code: ExitCode = ExitCode.OK
    """What the command then ends with."""

    def __call__(self, error: StoreError) -> None:
        """Take note of one, and say it."""
        self.code = ExitCode.SYSTEM
        warn(error)


def say(text: str) -> None:
    """Print to standard error, at once; what is wrong stands out in a terminal."""
    text = harmless(text)
    if is_colored(sys.stderr):
        text = _KIND.sub(lambda found: _COLORS[found[2]].format(*found.groups()), text)
    print(text, file=sys.stderr, flush=True)


def need_torch() -> None:
    """End, and say so, where torch is too old to do with a program what was asked for."""
    from importlib.metadata import PackageNotFoundError

    from fxls.installed_torch import OLDEST, OldTorch, require_installed

    try:
        require_installed()
    except PackageNotFoundError:
        return  # the program may need none, or says itself that it does
    except OldTorch as error:
        say(
            f"fxls: error: {error}\nhelp: Install torch {OLDEST} or newer into this"
            " interpreter; `fxls doctor` says what works there."
        )
        raise SystemExit(ExitCode.USAGE) from None


def harmless(text: str) -> str:
    """A text whose control characters are escaped: what a folder brought may hold any,
    and a terminal does what they say.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text
    )


_KIND = re.compile(r"^((?! ).*?)(error|warning):(?= )", re.MULTILINE)
_COLORS = {"error": "{0}\x1b[1;31m{1}:\x1b[0m", "warning": "{0}\x1b[1;33m{1}:\x1b[0m"}
