"""The expression that a node is of, where a trace says the start of it and not the end.

torch.compile notes where an expression starts alone, and several may start there:
``torch.relu(x)`` and ``torch.relu(x) @ y``. What was called tells them apart.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from fxls import regular_file
from fxls.parsing import parse
from fxls.text import Span

__all__ = ["MODULE", "called", "end_of", "only_call", "tree"]

MODULE = "forward"
"""What is called where a module is."""

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.Invert: "invert",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
"""By the names that the functions of `operator` have."""

_OF_NO_CALL = frozenset({*_OPERATORS.values(), "getitem", "setitem", "getattr"})


class _Expression(NamedTuple):
    end: tuple[int, int]
    """The line, counted from one, and the column behind it."""
    words: tuple[str, ...]
    """What a node may have called here."""
    is_call: bool
    calls_a_call: bool
    """As in ``Block()(x)``."""


def called(meta: Mapping[str, Any]) -> str:
    """The name of what torch.compile saw called for a node; empty where nobody noted it.

    A node of a backward has that of the forward.
    """
    stack: Any = meta.get("source_fn_stack") or meta.get("fwd_source_fn_stack")
    if not stack or not isinstance(stack, list | tuple):
        return ""
    last: object = cast("Sequence[object]", stack)[-1]
    if not isinstance(last, tuple) or len(cast("tuple[object, ...]", last)) != 2:
        return ""
    target: object = cast("tuple[object, ...]", last)[1]
    if isinstance(target, type):
        return MODULE
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return name if isinstance(name, str) else ""


def end_of(path: str, line: int, start: int, name: str) -> tuple[int, int] | None:
    """The line and the column behind the expression that starts in a line, counted from
    one, and column, where `name` was called.

    The longest of those that end in the line where that does not tell which one; None
    where there is none.
    """
    found = _starting(path).get((line, start), ())
    fitting = _fitting(found, name) or [one for one in found if one.end[0] == line]
    return max((one.end for one in fitting), default=None)


def only_call(path: str, line: int) -> Span | None:
    """The call that is all of what a line, counted from one, assigns to a variable or
    returns, where a statement of its own begins there.
    """
    return _only_calls(path).get(line)


@lru_cache(maxsize=64)
def _only_calls(path: str) -> Mapping[int, Span]:
    found: dict[int, Span | None] = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.stmt):
            # What shares its line with another one is of neither.
            call = None if node.lineno in found else _call_of(node)
            found[node.lineno] = None if call is None else _span(path, call)
    return {line: span for line, span in found.items() if span is not None}


def _call_of(statement: ast.stmt) -> ast.Call | None:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Call() as call):
            return call
        case ast.Return(value=ast.Call(func=ast.Name()) as call):
            return call
        case _:
            return None


def _span(path: str, node: ast.expr) -> Span:
    last, behind = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = _column(path, node.lineno, node.col_offset)
    return Span.of(node.lineno - 1, start, last - 1, _column(path, last, behind))


def _column(path: str, line: int, offset: int) -> int:
    text = linecache.getline(path, line).encode()
    return len(text[:offset].decode(errors="ignore"))


def _fitting(found: Sequence[_Expression], name: str) -> Sequence[_Expression]:
    if fitting := [one for one in found if name in one.words]:
        return fitting
    calls = sorted(one for one in found if one.is_call)
    if name == MODULE:  # what is done with the result of a module stands behind it
        return [*(one for one in calls if one.calls_a_call), *calls][:1]
    # A function may have been imported by another name.
    return calls if len(calls) == 1 and name not in _OF_NO_CALL else ()


@lru_cache(maxsize=16)
def tree(path: str) -> ast.Module:
    """The syntax of a file; an empty one when it cannot be read."""
    try:
        return parse(regular_file.read(path, regular_file.SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@lru_cache(maxsize=64)
def _starting(path: str) -> Mapping[tuple[int, int], Sequence[_Expression]]:
    """The expressions of a file by the line and the column where Python says they start."""
    found: dict[tuple[int, int], list[_Expression]] = {}

    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.expr | ast.AugAssign):
            continue
        line, offset = node.lineno, node.col_offset
        last, behind = node.end_lineno or line, node.end_col_offset or offset
        is_call = isinstance(node, ast.Call)
        calls_a_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Call)
        one = _Expression(
            (last, _column(path, last, behind)), _words(node), is_call, calls_a_call
        )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func
            if method.end_lineno and method.lineno != method.end_lineno:
                # Python says that such a call starts at the name of the method.
                line = method.end_lineno
                offset = (method.end_col_offset or 0) - len(method.attr.encode())
        found.setdefault((line, _column(path, line, offset)), []).append(one)
    return found


def _words(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return (name,)
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.Compare(ops=[op]):
            return (_OPERATORS.get(type(op), ""),)
        case ast.AugAssign(op=op):
            name = _OPERATORS.get(type(op), "")
            return (name, "i" + name.rstrip("_"))
        case ast.Subscript(ctx=ast.Load()):
            return ("getitem",)
        case ast.Subscript():
            return ("setitem",)
        case ast.Attribute():
            return ("getattr",)
        case _:
            return ()
