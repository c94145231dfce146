"""`fxls doctor`: what works in this interpreter, and why the rest does not."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import Commands, ExitCode, add_command, add_store

if TYPE_CHECKING:
    from fxls.health import Examination

__all__ = ["add", "doctor"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "doctor",
        "say what of fxls works in this Python, and why the rest does not",
        "It ends with 1 where fxls cannot trace, and with 3 where it cannot write.",
    )
    parser.set_defaults(command=doctor)
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def doctor(options: argparse.Namespace) -> int:
    """`fxls doctor`: versions, what works, the store, and the environment."""
    import logging

    from fxls.store import locate

    # What fxls would log, it says here.
    logging.getLogger("fxls").addHandler(logging.NullHandler())
    logging.getLogger("fxls").propagate = False
    root = options.store or locate(Path.cwd())
    # Before debugpy and torch add to it.
    found, usable = _examined(root, dict(os.environ))
    if options.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        _print(found)
    if not usable:
        return ExitCode.TROUBLE
    return ExitCode.SYSTEM if "problem" in found.store else ExitCode.OK


def _examined(root: Path, environment: Mapping[str, str]) -> tuple[Examination, bool]:
    """The examination, and whether torch can be used."""
    try:
        from fxls.runtime.examining import examined
    except ImportError as error:
        from fxls.health import without_torch

        return without_torch(root, environment, str(error)), False
    return examined(root, environment), True


def _print(found: Examination) -> None:
    for name, version in found.versions.items():
        print(f"{name:12}{version}")
    areas = dict.fromkeys(part.area for part in found.parts)
    for area in areas:
        parts = [part for part in found.parts if part.area == area]
        works = sum(not part.problems for part in parts)
        print(f"\n{area}: {works} of {len(parts)} parts work")
        for part in parts:
            for problem in part.problems:
                print(f"  off: {part.name}: {problem}")
    print(f"\nstore       {found.store['folder']}")
    if "identities" in found.store:
        print(f"            {found.store['identities']} models and functions")
    if "problem" in found.store:
        print(f"  off: {found.store['problem']}")
    print(f"\ncompiled    {found.code['folder'] or '(nowhere)'}")
    if "problem" in found.code:
        print(f"  off: {found.code['problem']}")
    print()
    for name, value in found.environment.items():
        print(f"{name}={value}")
    if found.off:
        print(
            "\nIf something is off that your versions should have, report it with"
            " what `fxls doctor --json` prints."
        )
