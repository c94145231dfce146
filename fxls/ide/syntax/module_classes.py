"""The module classes of a source file, found without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from fxls.ide.syntax.pieces import class_statements
from fxls.ide.syntax.signatures import (
    MODULES,
    ClassSyntax,
    Parameter,
    classes,
    parameters,
    takes_any,
)
from fxls.text import LineTable, Point, Span, line_table

__all__ = ["ModuleClass", "class_at", "modules"]


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """A class of the file that is an ``nn.Module`` with a ``forward``."""

    name: str
    span: Span
    """The name in its class statement."""
    constructible: bool
    """Whether its constructor needs no arguments."""
    parameters: tuple[Parameter, ...] = ()
    """Those of its constructor, without stars; none where a dataclass writes it."""
    inputs: tuple[Parameter, ...] = ()
    """Those of its forward, without stars."""
    open: bool = True
    """Whether its constructor takes keywords that are not in `parameters`."""


@lru_cache(maxsize=8)
def modules(text: str) -> tuple[ModuleClass, ...]:
    """The module classes at the top level of a file; none when it does not parse.

    A class counts as a module when the name of a base ends as one of `MODULES`, or is
    that of such a class above it. Bases of other files are taken at their name.

    Remembered, because each key that is pressed asks a few times.
    """
    has_any = any(name in text for name in MODULES)
    statements = class_statements(text) if has_any else None
    if statements is None:
        return ()
    lines = line_table(text)
    starts = {id(node): start for start, node in statements}
    return tuple(
        replace(known, span=_name_span(lines, found.node, starts[id(found.node)]))
        for found in classes(node for _, node in statements).values()
        if (known := _module(found)) is not None
    )


@lru_cache(maxsize=4096)
def _module(found: ClassSyntax) -> ModuleClass | None:
    """What is said of a class, wherever it stands; None for other classes.

    Remembered, because a class is read once, however many texts it stands in.
    """
    if not found.is_module() or not found.has_forward() or found.is_abstract():
        return None
    return ModuleClass(
        found.node.name,
        Span.of(0, 0, 0, 0),
        not found.needs_arguments(),
        parameters(found.method("__init__")),
        parameters(found.method("forward")),
        takes_any(found.method("__init__")),
    )


def class_at(lines: LineTable, point: Point) -> tuple[str, Span] | None:
    """The class whose name in its class statement is under a cursor, in any text."""
    match = _CLASS.match(lines.line(point.line))
    if match is None:
        return None
    span = Span.of(point.line, match.start(1), point.line, match.end(1))
    return (match[1], span) if span.touches(point) else None


_CLASS = re.compile(r"\s*class\s+(\w+)")


def _name_span(lines: LineTable, node: ast.ClassDef, start: int) -> Span:
    line = start + node.lineno - 1
    match = _CLASS.match(lines.line(line))
    start, end = match.span(1) if match else (0, len(lines.line(line)))
    return Span.of(line, start, line, end)
