"""`fxls list`: what the store holds."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    Troubles,
    add_command,
    add_store_to_read,
    chosen_or_located,
    completed,
    failed,
    harmless,
    is_colored,
    say,
    sources_here,
    warn,
)
from fxls.cli.run_argument import add_run, found_run
from fxls.counted import counted

if TYPE_CHECKING:
    from fxls.cli.reports.list_table import Newest
    from fxls.store import Store

__all__ = ["add", "list_"]

_SCHEMA = 1
"""The version of what `--json` prints; new keys leave it as it is."""

_EPILOG = """\
examples:
  fxls list
  fxls list gpt backward        of these alone
  fxls list recompilation       what was compiled again, and why
  fxls list --run=-1            what the newest run of `fxls runs` made
  fxls list --json | jq -r '.listings[].path'

Graphs stand under their program and class, each before what a compiler made of it. One
line is for all ranks; `fxls list rank 3` shows one of them.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "list",
        "say what the store holds: the newest listing of each graph",
        _EPILOG,
    )
    parser.set_defaults(command=list_)
    words = parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="show those alone that say all of these words",
    )
    completed(words, "word")
    add_store_to_read(parser)
    add_run(
        *(parser, "--run"),
        "show those alone that one run made: an id of `fxls runs` or a part of it, or"
        " --run=-1 for the newest",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def list_(options: argparse.Namespace) -> int:
    """`fxls list`: the identities of a store, each with its newest revision."""
    from fxls.cli.report import revision_as_json
    from fxls.cli.reports.list_table import Newest, in_order, matching, table
    from fxls.store import Store, StoreError

    troubles = Troubles()
    store = Store(chosen_or_located(options.store), report=troubles)
    found: list[Newest] = []
    for identity in store.identities():
        revision = store.newest(identity)
        if revision is None:
            continue
        try:
            count = len(store.read_revision(revision).nodes)
        except StoreError as error:
            troubles(error)
            count = None
        found.append(Newest(revision, count))
    try:
        found = found if options.run is None else _of_run(store, options.run, found)
    except StoreError as error:
        return failed(error)
    shown = matching(in_order(found), options.words)
    if options.json:
        listings = [revision_as_json(one.revision, one.nodes) for one in shown]
        said = {"schema": _SCHEMA, "store": str(store.root), "listings": listings}
        print(json.dumps(said))
    elif shown:
        lines = harmless(table(shown, sources_here(), time.time())).split("\n")
        colored = is_colored(sys.stdout)
        print("\n".join(_bold(one) if colored else one for one in lines))
    elif found:
        say(
            f"fxls: none of {counted(len(found), 'listing')} says"
            f" {' and '.join(map(repr, options.words))}\n"
            "help: `fxls list` without words shows them all."
        )
    elif troubles.code is ExitCode.OK:
        say(
            f"fxls: no listings in {store.root}\n"
            "help: `fxls run FILE` or `fxls trace FILE` makes one; --store or FXLS_STORE "
            "names another folder."
        )
    return troubles.code


def _of_run(store: Store, words: str, found: list[Newest]) -> list[Newest]:
    """The listings that one run made, each as it made it last; raises `StoreError`."""
    from fxls.cli.reports.list_table import Newest
    from fxls.record import Made
    from fxls.store.runs import Runs

    runs = Runs(store.root, warn)
    entries = runs.read(found_run(runs, words)).entries
    made = [one.event.revision for one in entries if isinstance(one.event, Made)]
    last = {one.identity: one for one in made}
    chosen: list[Newest] = []
    for one in found:
        named = last.get(one.revision.identity)
        if named is None:
            continue
        if (one.revision.path.name, one.revision.facts) == (named.text, named.facts):
            chosen.append(one)
            continue
        for revision in store.revisions(one.revision.identity):
            if revision.path.name == named.text:
                chosen.append(Newest(revision, revision.nodes))
                break
    return chosen


def _bold(line: str) -> str:
    """The head and the programs stand out; lines below them are indented."""
    return line if line.startswith(" ") else f"\x1b[1m{line}\x1b[0m"
