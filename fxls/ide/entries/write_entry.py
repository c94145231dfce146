"""Writing an entry comment for a class."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.entries.blanks import blanks
from fxls.ide.entries.entries import place_in
from fxls.ide.samples.samples import Samples, comment_of
from fxls.ide.syntax.module_classes import modules
from fxls.ide.syntax.quiet_parser import parsed
from fxls.text import LineTable, Point, Span

__all__ = ["WrittenEntry", "entry_fixes", "first_to_look_at", "written_entry"]


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """A comment above a class, that calls the class with guesses."""

    fix: Fix
    text: str
    """The file as it is then."""
    expression: str
    focus: Span
    """What to look at first."""


def written_entry(
    text: str, path: str, name: str, expression: str | None = None
) -> WrittenEntry | None:
    """The entry comment for a class; None when the file has no such module class.

    Its expression is a guess, if none is given.
    """
    module = next((one for one in modules(text) if one.name == name), None)
    if module is None:
        return None
    lines = LineTable(text)
    line = _first_decorator(text, name, module.span.start.line)
    content = lines.line(line)
    indent = content[: len(content) - len(content.lstrip())]
    expression = Samples(text).entry(module) if expression is None else expression
    comment = comment_of(expression)
    here = Point(line, 0)
    ending = "\r\n" if "\r\n" in text else "\n"
    edit = Edit(Span(here, here), f"{indent}{comment}{ending}")
    end = len(indent) + len(comment)
    whole = Span.of(line, end - len(expression), line, end)
    fix = Fix(f"Write an entry comment for {name}", path, (edit,))
    at = lines.offset(here)
    after = text[:at] + edit.text + text[at:]
    focus = place_in(whole, expression, first_to_look_at(expression))
    return WrittenEntry(fix, after, expression, focus)


def entry_fixes(text: str, path: str, point: Point) -> tuple[Fix, ...]:
    """An entry comment for the class whose name is under a cursor."""
    for module in modules(text):
        if module.span.touches(point):
            written = written_entry(text, path, module.name)
            return (written.fix,) if written else ()
    return ()


def first_to_look_at(expression: str) -> ast.expr:
    """What has to be filled in, else the first guess, else all of it."""
    tree = ast.parse(expression, mode="eval").body
    blank = next(blanks(tree, ""), None)
    if blank is not None:
        return blank.node
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    guesses = [a for call in calls for a in (*call.args, *_values(call.keywords))]
    return min(guesses, key=lambda guess: guess.col_offset, default=tree)


def _values(keywords: list[ast.keyword]) -> list[ast.expr]:
    return [keyword.value for keyword in keywords]


def _first_decorator(text: str, name: str, line: int) -> int:
    """The line above which a comment on a class stands."""
    tree = parsed(text)
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            above = [decorator.lineno - 1 for decorator in statement.decorator_list]
            return min([*above, line])
    return line
