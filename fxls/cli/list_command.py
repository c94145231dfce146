"""`fxls list`: what the store holds."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store_to_read,
    say,
    sources_here,
    warn,
)

if TYPE_CHECKING:
    from fxls.store import Revision, StoreError

__all__ = ["add", "list_"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "list", "say what the store holds: the newest listing of each model"
    )
    parser.set_defaults(command=list_)
    add_store_to_read(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def list_(options: argparse.Namespace) -> int:
    """`fxls list`: the identities of a store, each with its newest revision."""
    from fxls.cli.report import identities, revision_as_json
    from fxls.store import Store, StoreError, locate

    code = ExitCode.OK

    def complain(error: StoreError) -> None:
        nonlocal code
        code = ExitCode.SYSTEM
        warn(error)

    store = Store(options.store or locate(Path.cwd()), report=complain)
    if store.root.exists() and not store.root.is_dir():
        say(f"fxls: error: {store.root} is not a folder\nhelp: Move the file away.")
        return ExitCode.SYSTEM
    table: list[tuple[Revision, int | None]] = []
    for identity in store.identities():
        revision = store.newest(identity)
        if revision is None:
            continue
        try:
            count = len(store.read_revision(revision).nodes)
        except StoreError as error:
            complain(error)
            count = None
        table.append((revision, count))
    if options.json:
        listings = [revision_as_json(revision, count) for revision, count in table]
        print(json.dumps({"store": str(store.root), "listings": listings}))
    elif table:
        print(identities(table, sources_here(), time.time()))
    elif code is ExitCode.OK:
        say(
            f"fxls: no listings in {store.root}\n"
            "help: `fxls run FILE` or `fxls trace FILE` makes one; --store or FXLS_STORE "
            "names another folder."
        )
    return code
