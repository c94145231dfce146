"""A source with its syntax tree, for who writes edits of it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from fxls.ide.edits.fix import Edit
from fxls.ide.syntax.quiet_parser import parsed
from fxls.text import LineTable, Point, Span

__all__ = ["Function", "PythonSource", "dotted", "source_of"]

Function = ast.FunctionDef | ast.AsyncFunctionDef


class PythonSource:
    """One text, and where everything of its syntax tree is in it."""

    def __init__(self, text: str, path: str, tree: ast.Module) -> None:
        self.path = path
        self.lines = LineTable(text)
        self.tree = tree
        self.ending = "\r\n" if "\r\n" in text else "\n"
        self._parents = {
            child: node
            for node in ast.walk(tree)
            for child in ast.iter_child_nodes(node)
        }

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> Span:
        """Where a node is written."""
        last = node.end_lineno or node.lineno
        start = self._point(node.lineno, node.col_offset)
        return Span(start, self._point(last, node.end_col_offset or 0))

    def point_of(self, node: ast.arg) -> Point:
        """Where a parameter begins."""
        return self._point(node.lineno, node.col_offset)

    def said(self, node: ast.expr | ast.stmt) -> str:
        """A node as it is written."""
        return self.lines.slice(self.span(node))

    def argument(self, node: ast.expr) -> str:
        """An expression as it is written where an argument of a call may stand."""
        said = self.said(node)
        return f"({said})" if isinstance(node, ast.Tuple) and said[0] != "(" else said

    def at(self, span: Span) -> ast.expr | ast.stmt | None:
        """The outermost expression, or else the statement, that is just this span."""
        # A walk comes by the outer ones first.
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.expr | ast.stmt) and self.span(node) == span
        ]
        expressions = [node for node in found if isinstance(node, ast.expr)]
        return next(iter(expressions or found), None)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is in, innermost first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def statement(self, node: ast.expr | ast.stmt) -> ast.stmt | None:
        """The innermost statement that a node is, or is in."""
        within = (
            one for one in (node, *self.around(node)) if isinstance(one, ast.stmt)
        )
        return next(within, None)

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function that a node is in; None in a lambda."""
        for one in self.around(node):
            if isinstance(one, ast.Lambda):
                return None
            if isinstance(one, Function):
                return one
        return None

    def method_of(self, function: Function) -> ast.ClassDef | None:
        """The class that a function is a method of."""
        parent = self._parents.get(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements of which one is one."""
        parent = self._parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block: Any = getattr(parent, field, ())
            if not isinstance(block, ast.AST) and statement in block:
                return block
        return [statement]

    def has_own_lines(self, statement: ast.stmt) -> bool:
        """Whether nothing else is written on the lines of a statement, and it stands by
        itself: an ``elif`` is a statement only in the syntax tree.
        """
        span = self.span(statement)
        before = self.lines.line(span.start.line)[: span.start.column]
        behind = self.lines.line(span.end.line)[span.end.column :].strip()
        is_elif = isinstance(statement, ast.If) and self.lines.text.startswith(
            "elif", self.lines.offset(span.start)
        )
        return not before.strip() and behind[:1] in ("", "#") and not is_elif

    def indentation(self, statement: ast.stmt) -> str:
        """What is written in front of a statement that has its own lines."""
        span = self.span(statement)
        return self.lines.line(span.start.line)[: span.start.column]

    def above(self, statement: ast.stmt, line: str) -> Edit:
        """Another line above a statement that has its own ones."""
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(one.lineno for one in decorators)])
        here = Point(first - 1, 0)
        text = f"{self.indentation(statement)}{line}{self.ending}"
        return Edit(Span(here, here), text)

    def without(self, statement: ast.stmt) -> Edit:
        """A statement that has its own lines is taken away."""
        span = self.span(statement)
        if len(self.block(statement)) == 1:
            return Edit(span, "pass")
        return Edit(Span.of(span.start.line, 0, span.end.line + 1, 0), "")

    def behind_imports(self, line: str) -> tuple[Edit, ...]:
        """Another line behind the imports; `{torch}` in it is as the file says that.

        torch is imported where it is not.
        """
        said = self.said_as("torch")
        text = line.format(torch=said or "torch") + self.ending
        imports = [one for one in self._first_statements() if isinstance(one, _IMPORTS)]
        if imports:
            at = Point(imports[-1].end_lineno or imports[-1].lineno, 0)
        else:
            at = Point(self._behind_docstring(), 0)
        if at.line >= len(self.lines):
            at = self.lines.point(len(self.lines.text))
            text = self.ending + text
        # Not between an import and what is written close behind it.
        blank = self.lines.line(at.line).strip() != ""
        if said is None:
            text = f"import torch{self.ending}{text}"
        return (Edit(Span(at, at), f"{self.ending}{text}{self.ending * blank}"),)

    def needs_torch(self) -> tuple[Edit, ...]:
        """The edit that imports torch, where the file does not."""
        if self.said_as("torch") is not None:
            return ()
        at = Point(self._behind_docstring(), 0)
        for one in self._first_statements():
            if isinstance(one, ast.ImportFrom) and one.module == "__future__":
                at = Point(one.end_lineno or one.lineno, 0)
        return (Edit(Span(at, at), f"import torch{self.ending}"),)

    @property
    def torch(self) -> str:
        """How the file says torch, once `needs_torch` is done."""
        return self.said_as("torch") or "torch"

    def said_as(self, module: str) -> str | None:
        """The name under which a file has imported a module, at the left margin."""
        for one in self.tree.body:
            if isinstance(one, ast.Import):
                for alias in one.names:
                    first = alias.name.partition(".")[0]
                    if alias.name == module and alias.asname:
                        return alias.asname
                    if first == module and not alias.asname:
                        return module
        return None

    def imported_as(self, path: str) -> str:
        """A path of attributes by the module that its first name is imported from."""
        first, dot, rest = path.partition(".")
        for one in ast.walk(self.tree):
            if not isinstance(one, _IMPORTS):
                continue
            for alias in one.names:
                if first != (alias.asname or alias.name):
                    continue
                module = "" if isinstance(one, ast.Import) else f"{one.module or ''}."
                return f"{module}{alias.name}{dot}{rest}"
        return path

    def names_at(self, outer: ast.stmt) -> set[str]:
        """The names that are bound above a statement at the left margin."""
        found = set(dir(builtins))
        for one in self.tree.body:
            if one is outer:
                break
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(one.name)
                continue
            for node in ast.walk(one):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.add(node.id)
                elif isinstance(node, ast.alias):
                    found.add((node.asname or node.name).partition(".")[0])
        return found

    def outermost(self, node: ast.AST) -> ast.stmt | None:
        """The statement at the left margin that a node is in."""
        all_around = [node, *self.around(node)]
        outer = all_around[-2] if len(all_around) > 1 else None
        return outer if isinstance(outer, ast.stmt) else None

    def free_name(self, wanted: str) -> str:
        """A name that nothing in the file has."""
        known = {
            getattr(node, field)
            for node in ast.walk(self.tree)
            for field in ("id", "attr", "arg", "name")
            if isinstance(getattr(node, field, None), str)
        }
        name, number = wanted, 2
        while name in known:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def _first_statements(self) -> Iterator[ast.stmt]:
        """Those ahead of the first function and the first class."""
        for one in self.tree.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return
            yield one

    def _behind_docstring(self) -> int:
        first = next(iter(self.tree.body), None)
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            return first.end_lineno or first.lineno
        return 0

    def _point(self, line: int, column: int) -> Point:
        """The point of Python's line, which counts from one, and its byte."""
        text = self.lines.line(line - 1)
        if text.isascii():
            return Point(line - 1, column)
        before = text.encode("utf-8", "surrogatepass")[:column]
        return Point(line - 1, len(before.decode("utf-8", "surrogatepass")))


@lru_cache(maxsize=4)
def source_of(text: str, path: str) -> PythonSource | None:
    """A source with its tree; None where Python cannot read it.

    Remembered, because an editor asks with each move of the cursor.
    """
    # A `\r` by itself ends a line for Python, and for nobody else.
    if text.count("\r") != text.count("\r\n") or "\f" in text:
        return None
    tree = parsed(text)
    return None if tree is None else PythonSource(text, path, tree)


def dotted(node: ast.AST) -> str:
    """A path of attributes, as ``torch.compile``; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


_IMPORTS = ast.Import | ast.ImportFrom
