"""Which expression of a source file an instruction belongs to.

Python's tables give an instruction's line and columns, except that a method call in a
chain over several lines begins at the attribute's name. The syntax tree of the file has
the whole expression; it is made when the first position of the file is asked for.

Positions here are the compiler's: lines from one, columns in UTF-8 bytes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from fxls.parsing import parse

__all__ = ["Expressions", "Position"]

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Located: TypeAlias = ast.expr | ast.stmt


class Position(NamedTuple):
    """An extent of a file; the columns are None where Python kept none."""

    line: int
    end_line: int
    column: int | None
    end_column: int | None


class Expressions:
    """The expressions and functions of one text, found by their positions.

    A text that does not parse has none: every question is answered with what was
    asked, or with None.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._by_end: dict[tuple[int, int], list[_Located]] = {}
        self._functions: dict[int, list[Function]] = {}
        self._string_around: dict[int, ast.JoinedStr] = {}
        try:
            tree = parse("".join(lines))
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt):
                end = (node.end_lineno or 0, node.end_col_offset or 0)
                self._by_end.setdefault(end, []).append(node)
            if isinstance(node, Function):
                self._functions.setdefault(_first_line(node), []).append(node)
            elif isinstance(node, ast.JoinedStr):
                for inner in ast.walk(node):
                    self._string_around.setdefault(id(inner), node)

    def exact(self, position: Position, part: str | int | None = None) -> Position:
        """The extent of the whole expression (or statement) of an instruction.

        `part` narrows it: a name to the one attribute or variable of that name in the
        expression, a number to that element of a tuple; when there is no such part, or
        more than one, the expression stays.
        """
        node = self._node_at(position)
        if node is None:
            return position
        found = _part(_asked(node), part)
        return self._outside_of_strings(found)

    def syntax(self, position: Position) -> ast.AST | None:
        """The expression, or statement, of an instruction."""
        return self._node_at(position)

    def conditions_before(
        self, first_line: int, function: str, body: Sequence[Position], line: int
    ) -> list[ast.expr]:
        """What a function's `if` statements and assertions ask, up to a line."""
        found = self._function(first_line, function, body)
        nodes = () if found is None else ast.walk(found)
        return [
            node.test
            for node in nodes
            if isinstance(node, ast.If | ast.Assert) and node.lineno <= line
        ]

    def parameter(
        self, first_line: int, function: str, name: str, body: Sequence[Position]
    ) -> Position | None:
        """The name of a parameter in the ``def`` or lambda that starts at a line."""
        found = self._function(first_line, function, body)
        for arg in () if found is None else _parameters(found.args):
            if arg.arg == name:
                end = arg.col_offset + len(arg.arg.encode())
                return Position(arg.lineno, arg.lineno, arg.col_offset, end)
        return None

    def executed_return(
        self, first_line: int, function: str, body: Sequence[Position], at: int
    ) -> Position | None:
        """The return statement whose last instruction is `body[at]`.

        The line of the `def` when the function just ended. The compiler gives that
        instruction to the `with` around it, or to the last statement of `finally`; the
        return is then told by the closest instruction in front that is of one.
        """
        found = self._function(first_line, function, body)
        if found is None:
            return self.exact(body[at])
        if isinstance(found, ast.Lambda):
            return _extent(found.body)
        returns = [_extent(statement) for statement in _returns(found.body)]
        in_front = body[at::-1] if self._cleans_up(found, body[at]) else [body[at]]
        for position in in_front:
            for statement in returns:
                if _encloses(statement, position):
                    return statement
        return Position(found.lineno, found.lineno, None, None)

    def _cleans_up(self, function: Function, position: Position) -> bool:
        """Whether an instruction leaves a `with`, or is of a `finally`."""
        for node in ast.walk(function):
            if isinstance(node, ast.With | ast.AsyncWith):
                # The statement's before Python 3.13, and its expression's since.
                parts = [node, *(item.context_expr for item in node.items)]
                if any(_extent(part) == position for part in parts):
                    return True
            elif isinstance(node, ast.Try) and any(
                _encloses(_extent(statement), position) for statement in node.finalbody
            ):
                return True
        return False

    def only_return(
        self, first_line: int, function: str, body: Sequence[Position]
    ) -> Position | None:
        """The one return statement of a function, or the body of a lambda.

        The line of the `def` when there are none, or several.
        """
        found = self._function(first_line, function, body)
        if found is None:
            return None
        if isinstance(found, ast.Lambda):
            return _extent(found.body)
        returns = list(_returns(found.body))
        if len(returns) == 1:
            return _extent(returns[0])
        return Position(found.lineno, found.lineno, None, None)

    def _node_at(self, position: Position) -> _Located | None:
        line, end_line, column, end_column = position
        if column is None or end_column is None:
            return None
        ending = self._by_end.get((end_line, end_column), ())
        start = (line, column)
        for node in ending:
            if (node.lineno, node.col_offset) == start:
                return node
        for node in ending:
            if _attribute_start(node) == start:
                return node
        return None

    def _function(
        self, first_line: int, name: str, body: Sequence[Position]
    ) -> Function | None:
        found = [f for f in self._functions.get(first_line, ()) if _name(f) == name]
        if len(found) > 1:  # lambdas on one line: the one that the code lies in
            found = [f for f in found if any(_holds(f, at) for at in body)]
            found.sort(key=lambda f: (f.end_lineno or 0) - f.lineno)
        return found[0] if found else None

    def _outside_of_strings(self, node: _Located) -> Position:
        """The extent of a node, or of the f-string around it when that cannot be right.

        Before 3.12 the compiler counted the columns inside some f-strings wrongly.
        """
        string = self._string_around.get(id(node))
        if (
            string is None
            or string is node
            or sys.version_info >= (3, 12)
            or self._reads(_extent(node), node)
        ):
            return _extent(node)
        return _extent(string)

    def _reads(self, extent: Position, node: _Located) -> bool:
        """Whether the text at an extent parses to a node."""
        line, end_line, column, end_column = extent
        lines = [text.encode() for text in self._lines[line - 1 : end_line]]
        if not lines:
            return False
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        try:
            text = b"".join(lines).decode()
            return ast.dump(parse(f"({text})", "eval").body) == ast.dump(node)
        except (SyntaxError, ValueError):
            return False


def _extent(node: _Located) -> Position:
    return Position(
        node.lineno,
        node.end_lineno or node.lineno,
        node.col_offset,
        node.end_col_offset,
    )


def _attribute_start(node: _Located) -> tuple[int, int] | None:
    """Where the compiler says that a method call, or an attribute, starts in a chain."""
    if isinstance(node, ast.Call):
        node = node.func
    if not isinstance(node, ast.Attribute):
        return None
    # The compiler takes the length in characters off a column in bytes.
    return (node.end_lineno or 0, (node.end_col_offset or 0) - len(node.attr))


def _asked(node: _Located) -> _Located:
    """The value that a statement branches on or loops over: its body made no node."""
    match node:
        case ast.If() | ast.While() | ast.Assert():
            return node.test
        case ast.For():
            return node.iter
        case _:
            return node


def _part(node: _Located, part: str | int | None) -> _Located:
    if isinstance(part, int):
        if isinstance(node, ast.Tuple | ast.List) and part < len(node.elts):
            return node.elts[part]
    elif part is not None:
        named: list[_Located] = [
            n
            for n in ast.walk(node)
            if (isinstance(n, ast.Attribute) and n.attr == part)
            or (isinstance(n, ast.Name) and n.id == part)
        ]
        if len(named) == 1:
            return named[0]
    return node


def _first_line(function: Function) -> int:
    """The line that the code object says: of the first decorator, if there is one."""
    if isinstance(function, ast.Lambda):
        return function.lineno
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def _name(function: Function) -> str:
    return "<lambda>" if isinstance(function, ast.Lambda) else function.name


def _holds(function: Function, at: Position) -> bool:
    if at.column is None or not isinstance(function, ast.Lambda):
        return False
    body = _extent(function.body)
    start, end = (body.line, body.column), (body.end_line, body.end_column)
    return start == (at.line, at.column) and end == (at.end_line, at.end_column)


def _encloses(outer: Position, inner: Position) -> bool:
    if outer.column is None or inner.column is None:
        return outer.line <= inner.line and inner.end_line <= outer.end_line
    return (outer.line, outer.column) <= (inner.line, inner.column) and (
        inner.end_line,
        inner.end_column or 0,
    ) <= (outer.end_line, outer.end_column or 0)


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from arguments.posonlyargs
    yield from arguments.args
    yield from arguments.kwonlyargs
    if arguments.vararg is not None:
        yield arguments.vararg
    if arguments.kwarg is not None:
        yield arguments.kwarg


def _returns(body: Sequence[ast.AST]) -> Iterator[ast.Return]:
    """The return statements of a body, without those of functions inside it."""
    for node in body:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, Function | ast.ClassDef):
            yield from _returns(list(ast.iter_child_nodes(node)))
