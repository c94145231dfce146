"""`fxls prune`: a store that stays small."""

from __future__ import annotations

import argparse
from pathlib import Path

from fxls.cli.command import Commands, ExitCode, add_command, add_store, number_of, say

__all__ = ["add", "prune"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "prune",
        "delete listings that were not used for a long time",
        "Listings that were used within a day stay, however many they are.",
    )
    parser.set_defaults(command=prune)
    add_store(parser)
    for bound, default, what in (("days", 30, "age"), ("megabytes", 256, "size")):
        text = f"the {what} up to which they stay (default: {default})"
        parser.add_argument(
            f"--{bound}", type=number_of(bound), default=default, help=text
        )


def prune(options: argparse.Namespace) -> int:
    """`fxls prune`: delete listings by age, and by size; those of today stay."""
    from fxls import store

    root = options.store or store.locate(Path.cwd())
    try:
        pruned = store.prune(root, days=options.days, megabytes=options.megabytes)
    except store.StoreError as error:
        say(f"fxls: error: {error}")
        return ExitCode.SYSTEM
    print(f"{pruned} in {root}")
    return ExitCode.OK
