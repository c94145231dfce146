"""Makes the listing of a text that looks generated, so that `ide` is tested without
the engine: Python's own parser says where names stand and what reads what.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from textwrap import dedent

from fxls.listing import (
    Facts,
    Frame,
    Identity,
    Listing,
    Mark,
    Pieces,
    Role,
    Scope,
    Source,
    Value,
    source_digest,
)
from fxls.text import LineTable, Point, Span

__all__ = ["NET", "listing_of", "span_of"]

NET = Identity("net", "Net")

Spot = tuple[str, str]
"""A path of a source, and an expression that stands in it exactly once."""


def span_of(text: str, expression: str) -> Span:
    """Where an expression stands that the text holds exactly once."""
    assert text.count(expression) == 1, f"{expression!r} must stand there once"
    lines, start = LineTable(text), text.index(expression)
    return Span(lines.point(start), lines.point(start + len(expression)))


def listing_of(
    text: str,
    *,
    identity: Identity = NET,
    entry: str | None = None,
    sources: Mapping[str, str] | None = None,
    origins: Mapping[str, Sequence[Spot]] | None = None,
    values: Mapping[str, Value] | None = None,
    scopes: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    details: Mapping[str, str] | None = None,
    widths: Mapping[str, int] | None = None,
) -> Listing:
    """The listing of a text with one ``def forward``.

    `origins` name for each node its frames, innermost first; `scopes` the submodules,
    outermost first.
    """
    reader = _Reader(text)
    frames = _Frames(sources or {})
    scope_rows: list[Scope] = []
    nodes: list[Facts] = []
    users = reader.users()
    for node, (name, statement) in enumerate(reader.statements):
        scope: int | None = None
        for path, kind in (scopes or {}).get(name, ()):
            row = Scope(path, kind, scope)
            if row not in scope_rows:
                scope_rows.append(row)
            scope = scope_rows.index(row)
        opcode, target, args, kwargs = reader.call(name, statement)
        nodes.append(
            Facts(
                name,
                opcode,
                target,
                statement.lineno - 1,
                args=tuple(reader.pieces(arg) for arg in args),
                kwargs=tuple((k, reader.pieces(v)) for k, v in kwargs),
                users=tuple(sorted(users[node])),
                scope=scope,
                origin=frames.add((origins or {}).get(name, ())),
                value=(values or {}).get(name),
                detail=(details or {}).get(name),
                width=(widths or {}).get(name),
            )
        )
    return Listing(
        identity,
        text,
        reader.function.lineno - 1,
        tuple(sorted(reader.marks, key=lambda mark: (mark.line, mark.column))),
        tuple(nodes),
        sources=tuple(
            Source(path, source_digest(content.encode()))
            for path, content in frames.sources.items()
        ),
        frames=tuple(frames.rows),
        scopes=tuple(scope_rows),
        entry=entry,
    )


class _Reader:
    """The names of one forward: what binds, reads and frees them."""

    def __init__(self, text: str) -> None:
        self.lines = LineTable(text)
        self.function = next(
            f for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)
        )
        self.index: dict[str, int] = {}
        self.marks: list[Mark] = []
        self.statements: list[tuple[str, ast.arg | ast.stmt]] = []
        for argument in self.function.args.args[1:]:
            self._bind(argument.arg, argument, self._span(argument).start)
        for statement in self.function.body:
            match statement:
                case ast.Assign([ast.Name(name) as bound], ast.Constant(None)):
                    self._mark(bound, Role.FREES)
                case ast.Assign([ast.Name(name) as bound], value):
                    self._read(value)
                    self._bind(name, statement, self._span(bound).start)
                case _:
                    self._read(statement)
                    self.index["output"] = len(self.statements)
                    self.statements.append(("output", statement))

    def users(self) -> list[set[int]]:
        by_line = {s.lineno - 1: i for i, (_, s) in enumerate(self.statements)}
        found: list[set[int]] = [set() for _ in self.statements]
        for mark in self.marks:
            if mark.role is Role.READS:
                found[mark.node].add(by_line[mark.line])
        return found

    def call(
        self, name: str, statement: ast.AST
    ) -> tuple[str, str, list[ast.expr], list[tuple[str, ast.expr]]]:
        match statement:
            case ast.arg():
                return "placeholder", name, [], []
            case ast.Return(ast.expr() as value):
                return "output", "output", [value], []
            case ast.Assign(value=ast.Call(function, args, keywords)):
                words = [(k.arg or "**", k.value) for k in keywords]
                target = ast.unparse(function)
                if target.startswith("self."):
                    return "call_module", target.removeprefix("self."), args, words
                if isinstance(function, ast.Attribute) and self._nodes(function):
                    args = [function.value, *args]
                    return "call_method", function.attr, args, words
                return "call_function", target, args, words
            case ast.Assign(value=ast.BinOp(left, operator, right)):
                name = type(operator).__name__.lower()
                target = f"operator.{name.replace('mult', 'mul')}"
                return "call_function", target, [left, right], []
            case ast.Assign(value=ast.Subscript(value, index)):
                return "call_function", "operator.getitem", [value, index], []
            case ast.Assign(value=value):
                return "get_attr", ast.unparse(value).removeprefix("self."), [], []
            case _:
                raise AssertionError(ast.dump(statement))

    def pieces(self, expression: ast.expr) -> Pieces:
        """The text of an expression, cut at the names of nodes."""
        span = self._span(expression)
        pieces: list[str | int] = []
        at = span.start
        for name in self._nodes(expression):
            here = self._span(name)
            pieces += [self.lines.slice(Span(at, here.start)), self.index[name.id]]
            at = here.end
        pieces.append(self.lines.slice(Span(at, span.end)))
        return tuple(piece for piece in pieces if piece != "")

    def _nodes(self, tree: ast.AST) -> list[ast.Name]:
        names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
        known = (name for name in names if name.id in self.index)
        return sorted(known, key=lambda name: (name.lineno, name.col_offset))

    def _bind(self, name: str, tree: ast.arg | ast.stmt, start: Point) -> None:
        node = self.index[name] = len(self.statements)
        self.statements.append((name, tree))
        mark = Mark(start.line, start.column, len(name), node, Role.BINDS)
        self.marks.append(mark)

    def _read(self, tree: ast.AST) -> None:
        for name in self._nodes(tree):
            self._mark(name, Role.READS)

    def _mark(self, name: ast.Name, role: Role) -> None:
        at = self._span(name).start
        node = self.index[name.id]
        self.marks.append(Mark(at.line, at.column, len(name.id), node, role))

    def _span(self, tree: ast.arg | ast.expr) -> Span:
        """Python counts columns in bytes."""

        def point(line: int, column: int) -> Point:
            before = self.lines.line(line - 1).encode()[:column]
            return Point(line - 1, len(before.decode()))

        assert tree.end_lineno is not None
        assert tree.end_col_offset is not None
        return Span(
            point(tree.lineno, tree.col_offset),
            point(tree.end_lineno, tree.end_col_offset),
        )


class _Frames:
    """A frame table in which equal chains share their rows."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = {path: dedent(text) for path, text in sources.items()}
        self.rows: list[Frame] = []
        self._known: dict[Frame, int] = {}

    def add(self, chain: Sequence[Spot]) -> int | None:
        caller: int | None = None
        for path, expression in reversed(chain):
            text = self.sources[path]
            span = span_of(text, expression)
            row = Frame(
                list(self.sources).index(path),
                _function_at(text, span.start),
                span.start.line,
                span.start.column,
                span.end.line,
                span.end.column,
                caller,
            )
            if row not in self._known:
                self._known[row] = len(self.rows)
                self.rows.append(row)
            caller = self._known[row]
        return caller


def _function_at(text: str, point: Point) -> str:
    names = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno - 1 <= point.line < (node.end_lineno or 0)
    ]
    return ".".join(names) or "<module>"
