"""`fxls import`: what torch logged of a run, here or on another machine, into the store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    Troubles,
    add_command,
    add_store,
    completed,
    failed,
    harmless,
    say,
)
from fxls.counted import counted

if TYPE_CHECKING:
    from fxls.store.trace_import import ImportedRun

__all__ = ["add", "import_"]

_EPILOG = """\
examples:
  TORCH_TRACE=/tmp/trace python train.py    lets torch write its logs, without fxls
  fxls import /tmp/trace                    each log becomes a run of the store
  fxls import /tmp/trace && fxls runs -1

A log has the graphs, the compilations, the graph breaks, the failed guards and the times,
and no source: the lines of the source that it names are not read. What is imported once
is not imported again.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "import", "make runs and listings of the logs of TORCH_TRACE", _EPILOG
    )
    parser.set_defaults(command=import_)
    folder = parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="the folder of the logs, or one log"
    )
    completed(folder, "file")
    add_store(parser)


def import_(options: argparse.Namespace) -> int:
    """`fxls import`: read each log, and write what it says."""
    from fxls import regular_file
    from fxls.store import Store, StoreError, locate
    from fxls.store.trace_import import logs_in, read_log, write_run

    troubles = Troubles()
    root = options.store or locate(Path.cwd())
    count = 0
    launch: str | None = None
    try:
        for path in logs_in(options.folder):
            found = read_log(path, launch)
            if found is None:
                continue
            if found.run.rank is not None:
                launch = found.run.launch  # the ranks in a folder belong together
            count += 1
            # A store for each, because it notes which program the listings are of.
            store = Store(root, report=troubles, program=found.run.program)
            is_new = write_run(store, found)
            print(harmless(_said(found, is_new=is_new)))
    except StoreError as error:
        return failed(error)
    except OSError as error:
        say(f"fxls: error: {options.folder}: {regular_file.why(error)}")
        return ExitCode.USAGE
    if not count:
        say(
            f"fxls: error: there are no logs of TORCH_TRACE in {options.folder}\n"
            "help: TORCH_TRACE=FOLDER in the environment of a program lets torch write"
            " them."
        )
        return ExitCode.USAGE
    return troubles.code


def _said(found: ImportedRun, *, is_new: bool) -> str:
    run, summary = found.run, found.summary
    if not is_new:
        return f"{run.id}: is there already"
    program = f"{run.program}: " if run.program else ""
    text = (
        f"{run.id}: {program}{counted(summary.compilations, 'compilation')},"
        f" {counted(len(found.listings), 'listing')}"
    )
    if found.unread:
        text += f"; {counted(found.unread, 'entry', 'entries')} cannot be read"
    if found.left_out:
        text += f"; {found.left_out:,} bytes are too many, and left out"
    return text
