"""`fxls prune`: a store that stays small."""

from __future__ import annotations

import argparse
import os

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    chosen_or_located,
    failed,
    number_of,
    say,
)

__all__ = ["add", "prune"]

_EPILOG = """\
examples:
  fxls prune --dry-run
  fxls prune --megabytes 50
  fxls prune --all
  fxls prune --compiled

Too much goes in this order, the oldest first: listings that another revision took the
place of, that nobody opened, and that no program runs; then all that were not used
within a day. The newest revision of each graph stays for a day.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "prune",
        "delete listings that were not used for a long time",
        _EPILOG,
    )
    parser.set_defaults(command=prune)
    add_store(parser)
    for bound, default, what in (("days", 30, "age"), ("megabytes", 256, "size")):
        text = f"the {what} up to which they stay (default: {default})"
        parser.add_argument(
            f"--{bound}", type=number_of(bound), default=default, help=text
        )
    parser.add_argument(
        "--all",
        action="store_true",
        help="delete everything but what a program that runs has written",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="delete the compiled code of all stores, and no listing",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="delete nothing, and say what would go"
    )


def prune(options: argparse.Namespace) -> int:
    """`fxls prune`: delete listings by age, and by size, or all."""
    from fxls import store

    if options.compiled:
        return _prune_code(is_rehearsal=options.dry_run)
    root = chosen_or_located(options.store)
    try:
        pruned = store.prune(
            root,
            days=options.days,
            megabytes=options.megabytes,
            is_all=options.all,
            is_rehearsal=options.dry_run,
        )
    except store.StoreError as error:
        return failed(error)
    if options.dry_run:
        for name in pruned.deleted:
            print(os.path.relpath(root / name))
    print(f"{pruned.said(would=options.dry_run)} in {root}")
    return ExitCode.OK


def _prune_code(*, is_rehearsal: bool) -> ExitCode:
    """Delete what was kept of compiled code; programs compile it again."""
    from fxls.code_cache import CodeCache, folder_for

    folder = folder_for(os.environ)
    try:
        size = CodeCache(folder).clear(is_rehearsal=is_rehearsal)
    except OSError as error:
        say(f"fxls: error: {folder}: {error.strerror}\nhelp: Delete it yourself.")
        return ExitCode.SYSTEM
    verb = "would be deleted" if is_rehearsal else "deleted"
    print(f"{size / 1e6:.1f} MB of compiled code {verb} in {folder or '(nowhere)'}")
    return ExitCode.OK
