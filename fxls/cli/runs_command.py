"""`fxls runs`: the runs that a store has the records of, and one of them in detail."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    Troubles,
    add_command,
    add_store_to_read,
    bold,
    chosen_or_located,
    failed,
    harmless,
    is_colored,
    say,
    sources_here,
)
from fxls.cli.run_argument import HOW, add_run, found_run

if TYPE_CHECKING:
    from pathlib import Path

    from fxls.record import Event
    from fxls.store.runs import Runs

__all__ = ["add", "runs"]

_EPILOG = """\
examples:
  fxls runs                 the runs that there are, the newest first
  fxls runs -1              the newest one: its compilations, and what went wrong in them
  fxls runs -1 --guards     and the guards of each compilation, with their lines
  fxls runs -1 --all        the same, with each of many recompilations of a frame
  fxls runs 4711            the one whose id has these characters, as its process's number
  fxls runs -1 --json | jq '.compilations[] | select(.outcome == "limit")'
  fxls list --run=-1        the listings that the newest one made

`fxls run` and `fxls.install()` record a run from its first compilation on.
docs/compiler.md says what each word means, and what --json prints.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "runs", "say what ran, and what torch.compile did in it", _EPILOG
    )
    parser.set_defaults(command=runs)
    add_run(
        *(parser, "run"),
        "one run: its id or a part of it, or -1 for the newest, -2 for the one before",
    )
    parser.add_argument(
        "--guards",
        action="store_true",
        help="also what has to hold so that a compilation is used again (with a RUN)",
    )
    parser.add_argument(
        "--all", action="store_true", help="show each of many recompilations of a frame"
    )
    add_store_to_read(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def runs(options: argparse.Namespace) -> int:
    """`fxls runs`: all runs of a store, or one."""
    from fxls.cli.reports import run_report
    from fxls.cli.reports.kernel_report import kernels_as_json, kernels_text
    from fxls.cli.reports.pass_report import reading
    from fxls.cli.reports.run_ranks import ranks_as_json, ranks_text
    from fxls.store import Store, StoreError
    from fxls.store.run_ranks import differences, ranks_of
    from fxls.store.runs import Runs

    troubles = Troubles()
    root = chosen_or_located(options.store)
    of_store = Runs(root, troubles)
    try:
        if options.run is None:
            _print_all(root, of_store, troubles, is_json=options.json)
            return troubles.code
        one = of_store.one(found_run(of_store, options.run))
        part = of_store.read(one.run.id)
        of_launch = ranks_of(of_store, one.run.id)
    except StoreError as error:
        return failed(error)
    store = Store(root, report=troubles)

    def events_of(run: str) -> Iterator[Event]:
        return (entry.event for entry in of_store.read(run).entries)

    differing = differences(of_launch, events_of, store, troubles)
    events = [entry.event for entry in part.entries]
    if options.json:
        said = run_report.run_as_json(one, part, guards=options.guards)
        said |= ranks_as_json(of_launch, differing)
        print(json.dumps(said | kernels_as_json(events, reading(store))))
    else:
        sources = sources_here()
        ranks = ["", *ranks_text(of_launch, differing, sources)] if of_launch else []
        text = run_report.run_text(
            *(one, part, sources, ranks), is_whole=options.all, guards=options.guards
        )
        kernels = kernels_text(events, reading(store), sources)
        _print("\n".join([text, *kernels]))
    return troubles.code


def _print_all(root: Path, runs: Runs, troubles: Troubles, *, is_json: bool) -> None:
    from fxls.cli.reports import run_report

    found = runs.newest()
    if is_json:
        print(json.dumps(run_report.runs_as_json(str(root), found)))
    elif found:
        _print(run_report.runs_table(found, sources_here(), time.time()))
    elif troubles.code is ExitCode.OK:
        say(f"fxls: no runs in {root}\nhelp: {HOW}")


def _print(text: str) -> None:
    text = harmless(text)
    if is_colored(sys.stdout):
        first, newline, rest = text.partition("\n")
        text = bold(first) + newline + _CHANGES.sub(lambda one: bold(one[0]), rest)
    print(text)


_CHANGES = re.compile(r"(?<=^  passes that changed a graph: ).*$", re.MULTILINE)
