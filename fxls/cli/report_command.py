"""`fxls report`: a run as one page, to attach to an issue."""

from __future__ import annotations

import argparse
from pathlib import Path
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
    say,
)
from fxls.cli.run_argument import add_run, found_run
from fxls.counted import counted

if TYPE_CHECKING:
    from fxls.cli.reports.run_page import Inside, Wanted
    from fxls.listing import Listing
    from fxls.record import RevisionName

__all__ = ["add", "report"]

_EPILOG = """\
examples:
  fxls report -1 -o report.html               the newest run
  fxls report 4711 -o report.html --no-source

The page needs no network and no other file. It leaves out the environment, the arguments
of the program, the home folder, and the name of the machine; generated code names the
classes and functions of the program. Read it before you attach it.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "report", "write one page of a run, to attach to an issue", _EPILOG
    )
    parser.set_defaults(command=report)
    text = "the run: its id or a part of it, or -1 for the newest"
    add_run(parser, "run", text, is_needed=True)
    output = parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="the page"
    )
    completed(output, "file")
    parser.add_argument(
        "--no-source", action="store_true", help="leave out lines of the source"
    )
    parser.add_argument(
        "--with-arguments", action="store_true", help="show the program's arguments"
    )
    parser.add_argument(
        "--with-user",
        action="store_true",
        help="show paths with the home folder, and the name of the machine",
    )
    add_store_to_read(parser)


def report(options: argparse.Namespace) -> int:
    """`fxls report`: make the page, say what is inside, and write it."""
    from fxls import regular_file
    from fxls.cli.reports.run_page import Page, Wanted
    from fxls.store import Store, StoreError
    from fxls.store.runs import Runs
    from fxls.store_root import FOLDER

    troubles = Troubles()
    store = Store(chosen_or_located(options.store), report=troubles)
    runs = Runs(store.root, troubles)

    def read(name: RevisionName) -> Listing | None:
        try:
            return store.read_named(name)
        except StoreError:
            return None  # counted as left out

    try:
        one = runs.one(found_run(runs, options.run))
        part = runs.read(one.run.id)
    except StoreError as error:
        return failed(error)
    wanted = Wanted(
        source=not options.no_source,
        arguments=options.with_arguments,
        user=options.with_user,
    )
    # The folder of a project has a store of this name.
    folder = store.root.parent if store.root.name == FOLDER else None
    text, inside = Page(one, part, wanted, folder).text(read)
    print(_said(options.output, inside, wanted))
    try:
        options.output.write_text(text, "utf-8")
    except OSError as error:
        say(f"fxls: error: {options.output}: {regular_file.why(error)}")
        return ExitCode.USAGE
    return troubles.code


def _said(output: Path, inside: Inside, wanted: Wanted) -> str:
    """What is in a page, and what is not."""
    holds = (
        f"{counted(inside.compilations, 'compilation')},"
        f" {counted(inside.remarks, 'remark')}, {counted(inside.listings, 'listing')},"
        f" {counted(inside.diffs, 'diff of a pass', 'diffs of passes')},"
        f" {counted(inside.pictures, 'picture')}"
    )
    choices = (
        ("lines of the source", wanted.source),
        ("arguments", wanted.arguments),
        ("home folder and machine", wanted.user),
    )
    kept = [name for name, is_in in choices if is_in]
    out = [name for name, is_in in choices if not is_in]
    lines = [f"{output}: {holds}"]
    if kept:
        lines.append(f"  with: {', '.join(kept)}")
    lines.append(f"  without: {', '.join((*out, 'environment'))}")
    if inside.left_out:
        parts = counted(inside.left_out, "part is", "parts are")
        lines.append(
            f"  {parts} left out: there is no room, or the store has it no more"
        )
    return "\n".join(lines)
