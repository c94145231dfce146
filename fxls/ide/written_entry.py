"""Writing an entry comment for a class."""

from __future__ import annotations

import ast

from fxls.ide.fixes import Edit, Fix
from fxls.ide.modules import modules, parsed
from fxls.ide.samples import Samples
from fxls.text import LineTable, Point, Span

__all__ = ["entry_fixes"]


def entry_fixes(text: str, path: str, point: Point) -> tuple[Fix, ...]:
    """An entry comment for the class whose name is under a cursor."""
    for module in modules(text):
        if module.span.touches(point):
            lines = LineTable(text)
            line = _first_decorator(text, module.name, module.span.start.line)
            content = lines.line(line)
            indent = content[: len(content) - len(content.lstrip())]
            here = Point(line, 0)
            ending = "\r\n" if "\r\n" in text else "\n"
            edit = Edit(
                Span(here, here), f"{indent}{Samples(text).comment(module)}{ending}"
            )
            return (Fix(f"Write an entry comment for {module.name}", path, (edit,)),)
    return ()


def _first_decorator(text: str, name: str, line: int) -> int:
    """The line above which a comment on a class stands."""
    tree = parsed(text)
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            above = [decorator.lineno - 1 for decorator in statement.decorator_list]
            return min([*above, line])
    return line
