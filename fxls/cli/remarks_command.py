"""`fxls remarks`: what torch.compile could not do, on the lines that it was about."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    Troubles,
    add_command,
    add_store_to_read,
    chosen_or_located,
    failed,
    harmless,
    say,
    sources_here,
)
from fxls.cli.run_argument import HOW, add_run, found_run

if TYPE_CHECKING:
    from fxls.cli.report import Sources
    from fxls.cli.reports.remarks_report import RemarkNow
    from fxls.record.remarks import SourceRemark
    from fxls.store.runs import Runs

__all__ = ["add", "remarks"]

_EPILOG = """\
examples:
  fxls remarks                    the problems of the newest program that was recorded
  fxls remarks --all              what matters less as well
  fxls remarks -2                 of the run before the newest, as `fxls runs` lists them
  fxls remarks --json | jq '.remarks[] | select(.subject == "break") | .place'
  fxls remarks --sarif > remarks.sarif      for code scanning
  fxls remarks --github           annotations, inside of a workflow of GitHub

A problem is a graph break, a recompilation, a limit that was reached, or a function that
is not compiled. docs/remarks.md says what each means, and what --json prints.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "remarks", "say what torch.compile could not do, and where", _EPILOG
    )
    parser.set_defaults(command=remarks)
    add_run(
        *(parser, "run"),
        "one run, as `fxls runs` names it (default: all of the newest program)",
    )
    add_store_to_read(parser)
    parser.add_argument("--all", action="store_true", help="say costs and analyses too")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for programs")
    form.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0")
    form.add_argument(
        "--github", action="store_true", help="print annotations for GitHub's workflows"
    )


def remarks(options: argparse.Namespace) -> int:
    """`fxls remarks`: what is remarked of a run, or of all runs of the newest program."""
    from fxls.cli.reports import remarks_report as report
    from fxls.record.remarks import RemarkKind
    from fxls.store import StoreError
    from fxls.store.runs import Runs

    troubles = Troubles()
    root = chosen_or_located(options.store)
    of_store = Runs(root, troubles)
    try:
        if options.run is None:
            runs = of_store.newest_launch()
        else:
            runs = (found_run(of_store, options.run),)
        # A program that reads JSON finds an object, also where nothing ran.
        if not runs and not (options.json or options.sarif):
            if troubles.code is ExitCode.OK:
                say(f"fxls: no runs in {root}\nhelp: {HOW}")
            return troubles.code
        found = _remarks(of_store, runs)
    except StoreError as error:
        return failed(error)
    kept = [one for one in found if options.all or one.kind is RemarkKind.PROBLEM]
    sources = sources_here()
    shown = _now(kept, sources)
    if options.json:
        print(json.dumps(report.remarks_as_json(shown, runs)))
    elif options.sarif:
        print(json.dumps(report.remarks_as_sarif(shown, Path.cwd()), indent=2))
    elif options.github:
        text = report.remarks_as_annotations(shown, Path.cwd())
        if text:
            print(harmless(text))
    else:
        print(harmless(report.remarks_text(shown, sources, runs)))
    return troubles.code


def _remarks(of_store: Runs, runs: tuple[str, ...]) -> tuple[SourceRemark, ...]:
    from fxls.record.remarks import merged, remarks_of
    from fxls.serving.ownership import is_own

    return merged(
        one for run in runs for one in remarks_of(of_store.read(run).entries, is_own)
    )


def _now(found: list[SourceRemark], sources: Sources) -> list[RemarkNow]:
    """The remarks with their places in the sources of today, in the order of those."""
    from fxls.cli.reports.remarks_report import RemarkNow
    from fxls.ide.syntax.quoted_places import PlacesNow

    texts: dict[str, PlacesNow] = {}
    shown: list[RemarkNow] = []
    for one in found:
        span = None
        if one.place is not None:
            path = one.place.place.path
            if path not in texts:
                texts[path] = PlacesNow(sources.lines(path).text)
            span = texts[path].span(one.place)
        shown.append(RemarkNow(one, span))
    return sorted(shown, key=_order)


def _order(one: RemarkNow) -> tuple[bool, str, int, int]:
    """What is in a source of today first, in the order of that."""
    place = one.remark.place
    if place is None:
        return (True, "", 0, 0)
    start = (one.span or place.place.span).start
    return (one.span is None, place.place.path, start.line, start.column)
