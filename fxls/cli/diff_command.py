"""`fxls diff`: what is different between two graphs, or the graphs of two runs."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
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
)
from fxls.cli.run_argument import add_run
from fxls.counted import counted

if TYPE_CHECKING:
    from fxls.cli.diff_sides import Graph, Side
    from fxls.cli.reports.diff_report import Compared
    from fxls.listing import Identity

__all__ = ["add", "diff"]

_EPILOG = """\
examples:
  fxls diff .fxls/Net_0123456789ab.py .fxls/Net_ba9876543210.py
  fxls diff net.Net                        its newest revision and the one before
  fxls diff net.Net@1 net.Net@-1           its oldest revision and its newest
  fxls diff 'net.Net torch.compile graph 0' 'net.Net graph 0 joint'
  fxls diff pass:fuse_seed_creation_pass   what a pass did
  fxls diff 'pass:pattern_matcher(1)' 'pass:pattern_matcher(3)'
  fxls diff 'pass:0/1 graph 0, joint pattern_matcher(1)'
  fxls diff run:-2 run:-1                  the graphs of two runs
  fxls diff rank:0 rank:1                  the graphs of two ranks
  fxls diff net.Net --json | jq '.summary'

A node is known by what it does, what it reads and who reads it, so another name is no
difference. + is a node that only the new graph has, - one that only the old one has,
~ one that is not the same in both, and > one that stands elsewhere.

exit codes:
  0  there is no difference
  1  there is one
  2  something is wrong, and the message says what
"""

_SAME, _DIFFERENT, _TROUBLE = 0, 1, 2
"""As those of diff, which programs know."""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "diff", "say what is different between two graphs", _EPILOG
    )
    parser.set_defaults(command=diff)
    old = parser.add_argument(
        "old",
        metavar="A",
        help="a file of a listing, words of `fxls list`, pass:NAME, run:RUN or rank:N;"
        " @N behind words is a revision: 1 is the oldest, -1 the newest",
    )
    new = parser.add_argument(
        "new",
        metavar="B",
        nargs="?",
        help="the same; without it, a pass is compared with the graph that it was given,"
        " and a graph with its revision before",
    )
    completed(old, "file")
    completed(new, "file")
    text = "of which run passes are meant (default: the newest that has passes)"
    add_run(parser, "--run", text)
    add_store_to_read(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def diff(options: argparse.Namespace) -> int:
    """`fxls diff`: compare two graphs, or two sets of them."""
    from fxls.cli.diff_sides import NotFound, one_side, two_sides
    from fxls.store import Store, StoreError
    from fxls.store.runs import Runs

    troubles = Troubles()
    try:
        store = Store(chosen_or_located(options.store), report=troubles)
        runs = Runs(store.root, troubles)
        if options.new is None:
            sides = one_side(store, runs, options.old, options.run)
        else:
            sides = two_sides(store, runs, (options.old, options.new), options.run)
        old, new = sides
        found = [_compared(old, new, one, troubles) for one in _identities(old, new)]
    except NotFound as error:
        say(f"fxls: error: {error.problem}\nhelp: {error.advice}")
        return _TROUBLE
    except StoreError as error:
        failed(error)
        return _TROUBLE
    except SystemExit:  # it was said which store or run there is not
        return _TROUBLE
    _show(sides, found, options)
    if troubles.code:
        return _TROUBLE
    return _DIFFERENT if any(not one.is_same for one in found) else _SAME


def _identities(old: Side, new: Side) -> list[Identity]:
    if old.is_one:
        return list(new.graphs)
    return [*old.graphs, *(one for one in new.graphs if one not in old.graphs)]


def _compared(old: Side, new: Side, identity: Identity, troubles: Troubles) -> Compared:
    """One graph of both sides; raises `StoreError` where there is no other."""
    from fxls.cli.reports.diff_report import Compared
    from fxls.graph_diff import graph_diff
    from fxls.store import StoreError

    here = new.graphs.get(identity)
    there: Graph | None
    if old.is_one:
        (there,) = old.graphs.values()
    else:
        there = old.graphs.get(identity)
    if here is None or there is None:
        return Compared(identity, there, here, None)
    try:
        found = graph_diff(there.read(), here.read())
    except StoreError as error:
        if old.is_one:
            raise
        troubles(error)
        found = None
    return Compared(identity, there, here, found)


def _show(
    sides: list[Side], found: list[Compared], options: argparse.Namespace
) -> None:
    from fxls.cli.reports import diff_report

    is_one = sides[0].is_one
    if options.json:
        said = (
            diff_report.nodes_as_json(found[0])
            if is_one
            else diff_report.graphs_as_json(sides, found)
        )
        print(json.dumps(said))
        return
    if is_one:
        text = diff_report.nodes_text(found[0], sources_here())
    elif all(one.is_same for one in found):
        text = f"no difference in {counted(len(found), 'graph')}"
    else:
        text = diff_report.graphs_text(found, sources_here())
        same = sum(one.is_same for one in found)
        text += f"\n{same} of {len(found)} graphs are the same" if same else ""
    text = harmless(text)
    print(_SIGN.sub(_colored, text) if is_colored(sys.stdout) and is_one else text)


_SIGN = re.compile(r"^([-+~>]).*$", re.MULTILINE)
_COLORS = {"-": "31", "+": "32", "~": "33", ">": "36"}


def _colored(line: re.Match[str]) -> str:
    return f"\x1b[{_COLORS[line[1]]}m{line[0]}\x1b[0m"
