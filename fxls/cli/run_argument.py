"""The argument RUN of the subcommands, and the run that is meant by it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal

from fxls.cli.command import ExitCode, completed, say

if TYPE_CHECKING:
    from fxls.store.runs import Runs

__all__ = ["HOW", "add_run", "found_run", "newest_with_passes"]

HOW = "`fxls run FILE` records a program that compiles; --store or FXLS_STORE names another folder."
"""How a store comes to a run."""


def add_run(
    parser: argparse.ArgumentParser,
    name: Literal["run", "--run"],
    text: str,
    *,
    is_needed: bool = False,
) -> None:
    """The argument or the option that names one run."""
    may_lack = name == "run" and not is_needed
    run = parser.add_argument(
        name, metavar="RUN", nargs="?" if may_lack else None, help=text
    )
    completed(run, "word")


def found_run(of_store: Runs, words: str) -> str:
    """The id of the run that is meant; ends, and says so, where none is or several are.

    Raises `StoreError`.
    """
    found = of_store.find(words)
    if len(found) == 1:
        return found[0]
    if not found:
        problem, advice = f"there is no run {words!r}", "`fxls runs` shows them all."
    else:
        problem = f"{words!r} may be each of {len(found)} runs"
        advice = "Say more of its id: " + ", ".join(found[:3])
        advice += " ..." if len(found) > 3 else "."
    say(f"fxls: error: {problem}\nhelp: {advice}")
    raise SystemExit(ExitCode.USAGE)


def newest_with_passes(of_store: Runs) -> str | None:
    """The id of the run that is meant by passes where none is named.

    Raises `StoreError`.
    """
    return next(
        (
            one.run.id
            for one in of_store.newest()
            if one.summary.passes or one.summary.searches
        ),
        None,
    )
