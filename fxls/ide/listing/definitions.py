"""Where the classes and functions that a listing names are defined."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import PurePath

from fxls.ide.listing.document import Destination, Document
from fxls.ide.syntax.quiet_parser import parsed
from fxls.listing import Scope
from fxls.text import LineTable, Span

__all__ = ["class_of_graph", "class_of_scope", "method_of_scope", "scope_of"]

SourceText = Callable[[str], str | None]


def scope_of(document: Document, node: int) -> Scope | None:
    """The submodule that a node calls, else the one whose forward made it."""
    row = document.listing.nodes[node].scope
    return None if row is None else document.listing.scopes[row]


def class_of_scope(
    document: Document, scope: Scope, source: SourceText
) -> Destination | None:
    """The class of a submodule; None when its file is not known or not there."""
    module, _, name = scope.type.rpartition(".")
    path = scope.file or _source_called(document, module)
    return _found(path, name, source) if path else None


def method_of_scope(
    document: Document, scope: Scope, source: SourceText
) -> Destination | None:
    """The forward of a submodule's class, or the class where it inherits that."""
    module, _, name = scope.type.rpartition(".")
    path = scope.file or _source_called(document, module)
    if path is None:
        return None
    return _found(path, f"{name}.forward", source) or _found(path, name, source)


def class_of_graph(document: Document, source: SourceText) -> Destination | None:
    """The class, or function, that was traced."""
    identity = document.listing.identity
    path = _source_called(document, identity.module)
    return _found(path, identity.qualname, source) if path else None


def _source_called(document: Document, module: str) -> str | None:
    """The source that a module of this name is read from."""
    wanted = module.split(".")
    for source in document.listing.sources:
        parts = PurePath(source.path.removesuffix(".py")).parts
        if list(parts[-len(wanted) :]) == wanted:
            return source.path
        if parts[-1:] == ("__init__",) and list(parts[-len(wanted) - 1 : -1]) == wanted:
            return source.path
    return None


def _found(path: str, qualname: str, source: SourceText) -> Destination | None:
    text = source(path)
    if text is None:
        return None
    lines = LineTable(text)
    names = [name for name in qualname.split(".") if name != "<locals>"]
    line = _only(text, names[0]) if len(names) == 1 else _nested(text, names)
    if line is None:
        return None
    match = re.search(rf"\b{re.escape(names[-1])}\b", lines.line(line))
    start, end = match.span() if match else (0, 0)
    content = lines.line(line)
    indent = len(content) - len(content.lstrip())
    whole = Span.of(line, indent, line, max(indent, len(content.rstrip())))
    return Destination(path, whole, Span.of(line, start, line, end))


def _only(text: str, name: str) -> int | None:
    """The line of the outermost definition of this name.

    Looked for without a parser, because some files of torch take that long.
    """
    pattern = rf"^([ \t]*)(?:class|(?:async )?def)[ \t]+{re.escape(name)}\b"
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return None
    return text.count("\n", 0, min(found, key=lambda m: len(m[1])).start())


def _nested(text: str, names: list[str]) -> int | None:
    tree = parsed(text)
    body: list[ast.stmt] = tree.body if tree else []
    line: int | None = None
    for name in names:
        found = next((s for s in _definitions(body) if s.name == name), None)
        if found is None:
            return None
        line, body = found.lineno - 1, found.body
    return line


def _definitions(
    body: list[ast.stmt],
) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The classes and functions of a body, also those under an ``if`` or ``try``."""
    found: list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = []
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(statement)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            found += _definitions(statement.body)
            for more in ("orelse", "finalbody"):
                found += _definitions(getattr(statement, more, []))
    return found
