"""The entry that the argument of `fxls compare` names, and the program that runs it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fxls.launching.python_arguments import PythonArguments

if TYPE_CHECKING:
    from fxls.launching.entry_argument import EntryArgument

__all__ = ["entry_of", "to_compare"]


def entry_of(program: Sequence[str]) -> EntryArgument | None:
    """What ``FILE:EXPRESSION`` names; None for the name of a program."""
    from fxls.launching.entry_argument import entry_argument

    named = program[0]
    if named == "-m" or ".py:" not in named or os.path.exists(named):  # noqa: PTH110  # Path.exists raises for some names
        return None
    found = entry_argument(named)
    return None if isinstance(found, str) else found


def to_compare(python: PythonArguments, entry: EntryArgument) -> PythonArguments:
    """The command line of a program that compiles and calls an entry."""
    named = f"{entry.path}:{entry.expression}"
    program = ["-m", "fxls.launching.compared_entry", named]
    return PythonArguments(python.flags, python.letters, program)
