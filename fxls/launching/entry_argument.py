"""What a command line names: a file, and the entries that are meant."""

from __future__ import annotations

import ast
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fxls import regular_file
from fxls.entry import Entry, Kind
from fxls.ide.entries import entries as ide
from fxls.ide.samples.samples import Samples, comment_of
from fxls.ide.syntax.module_classes import modules
from fxls.listing import Failure, Place, Reason
from fxls.text import Span

__all__ = ["EntryArgument", "entries_of", "entry_argument"]


@dataclass(frozen=True, slots=True)
class EntryArgument:
    """A file, and an expression in its namespace; without one, the file's entries."""

    path: Path
    expression: str | None


def entry_argument(text: str) -> EntryArgument | str:
    """The argument that FILE[:EXPRESSION] is, or what is wrong with it.

    A colon in the name of a file that exists belongs to the name. Two colons are one, as
    people write them who know pytest.
    """
    path, colon, expression = text, "", ""
    if not os.path.exists(text):  # noqa: PTH110  # Path.exists raises for some names
        stem, suffix, rest = text.partition(".py:")
        path, colon, expression = (
            (stem + ".py", ":", rest) if suffix else text.partition(":")
        )
    expression = expression.removeprefix(":")
    if not path:
        return f"{text!r} names no file"
    if colon and not expression.strip():
        return (
            f"{text!r} has no expression behind the colon; leave the colon out to "
            "trace the entries of the file"
        )
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() follows links
    return EntryArgument(absolute, expression.strip() or None)


def entries_of(
    argument: EntryArgument,
) -> tuple[tuple[Entry, ...], tuple[Failure, ...]]:
    """What is to be traced, and what is wrong with what should be.

    One of the two holds something.
    """
    path = str(argument.path)
    if argument.expression is not None:
        return (Entry(path, argument.expression, Kind.COMMAND),), ()
    try:
        data = regular_file.read(argument.path, regular_file.SOURCE_BYTES)
        text = data.decode("utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        problem = regular_file.why(error)
        return (), (
            Failure(Reason.NOT_FOUND, f"{path}: {problem}", advice="Check the path."),
        )
    project = _project(argument.path)
    entries = ide.entries(text, path, project.entries)
    wrong = (*ide.problems(text, path), *project.problems)
    if entries or wrong:
        return entries, wrong
    return (), (_no_entry(text, path),)


def _no_entry(text: str, path: str) -> Failure:
    try:
        ast.parse(text, path)
    except SyntaxError as error:
        line, column = (error.lineno or 1) - 1, max((error.offset or 1) - 1, 0)
        place = Place(path, "<module>", Span.of(line, column, line, column + 1))
        return Failure(Reason.SYNTAX, f"SyntaxError: {error.msg}", (place,))
    except ValueError as error:  # null bytes, in Python 3.11
        return Failure(Reason.SYNTAX, f"{path}: {error}")
    comment, expression = "# fxls: Net(...)(torch.randn(...))", "Net(...)"
    if classes := modules(text):
        # A model stands below the classes that it is made of.
        expression = Samples(text).entry(classes[-1])
        comment = comment_of(expression)
    return Failure(
        Reason.NOT_FOUND,
        f"{path} has no entry, so there is nothing to trace",
        advice=f"Write one into the file, `{comment}`, or on the command line, "
        f"fxls trace {shlex.quote(f'{Path(path).name}:{expression}')}.",
    )


def _project(path: Path) -> ide.Project:
    """What the nearest pyproject.toml says."""
    for folder in path.parents:
        toml = folder / "pyproject.toml"
        with suppress(OSError):
            data = regular_file.read(toml, regular_file.SETTINGS_BYTES)
            text = data.decode("utf-8", errors="replace")
            return ide.project(text, str(folder), str(toml))
    return ide.Project()
