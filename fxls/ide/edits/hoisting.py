"""Calls that are the same in each run of a function, made once outside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.edits.python_source import Function, PythonSource, dotted
from fxls.text import Point, Span

__all__ = ["hoisting_fixes"]

_NEVER_THE_SAME = frozenset(
    {"time", "random", "datetime", "uuid", "secrets", "os", "input", "next", "print"}
)
"""What the calls of these modules and functions give, or do, is another thing each time."""
_ALWAYS_THE_SAME = frozenset(
    {
        "ast",
        "base64",
        "copy",
        "decimal",
        "fractions",
        "functools",
        "hashlib",
        "itertools",
    }
    | {"json", "math", "numpy", "operator", "re", "string", "struct", "textwrap"}
)
"""Of other modules, and of functions of the program, a few calls cannot show it."""


def hoisting_fixes(source: PythonSource, node: ast.expr) -> Iterator[Fix]:
    """A call of what a function does not compute, made ahead of it."""
    function, outer = source.function(node), source.outermost(node)
    if not isinstance(node, ast.Call) or function is None or outer is None:
        return
    parts = source.imported_as(dotted(node.func)).split(".")
    if not parts[0] or not _NEVER_THE_SAME.isdisjoint(parts) or not _is_plain(node):
        return
    if isinstance(next(source.around(node)), ast.Expr):
        return  # nobody takes its value
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    known = source.names_at(outer) - _bound_in(function)
    kept = dotted(node.func).rpartition(".")[2].lstrip("_")
    can_be_tried = parts[0] in _ALWAYS_THE_SAME
    for fix in _as_attribute(source, node, function, names - known, kept):
        yield replace(fix, can_be_tried=can_be_tried)
    if names <= known and source.has_own_lines(outer):
        name = source.free_name(f"_{kept.upper()}")
        above = source.above(outer, f"{name} = {source.said(node)}")
        blank = source.ending * 2
        edits = (
            Edit(above.span, f"{above.text}{blank}"),
            Edit(source.span(node), name),
        )
        title = f"Make the call once, at the top: {name}"
        yield Fix(title, source.path, edits, can_be_tried=can_be_tried)


def _as_attribute(
    source: PythonSource, node: ast.expr, function: Function, local: set[str], kept: str
) -> Iterator[Fix]:
    """Where the call needs nothing but the module, made when that is made."""
    of = source.method_of(function)
    own = _first_parameter(function)
    if of is None or own is None or function.name == "__init__" or local - {own}:
        return
    for method in of.body:
        if not (isinstance(method, ast.FunctionDef) and method.name == "__init__"):
            continue
        last = method.body[-1]
        if _first_parameter(method) != own or not source.has_own_lines(last):
            return
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if (names - {own}) & _bound_in(method):
            return
        attribute = f"{own}.{source.free_name(f'_{kept.lower()}')}"
        line = f"{source.indentation(last)}{attribute} = {source.said(node)}"
        at = Point(last.end_lineno or last.lineno, 0)
        text = line + source.ending
        if at.line >= len(source.lines):
            at, text = source.lines.point(len(source.lines.text)), source.ending + line
        edits = (Edit(Span(at, at), text), Edit(source.span(node), attribute))
        title = f"Make the call once, in __init__: {attribute}"
        yield Fix(title, source.path, edits, is_preferred=True)


def _first_parameter(function: Function) -> str | None:
    is_bare = not any(
        dotted(one) in ("staticmethod", "classmethod")
        for one in function.decorator_list
    )
    of = [*function.args.posonlyargs, *function.args.args]
    return of[0].arg if of and is_bare else None


def _bound_in(function: Function) -> set[str]:
    """The names that are a function's own, those of functions inside of it included."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, Function | ast.ClassDef) and node is not function:
            found.add(node.name)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found.add(node.name or "")
    return found


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression is the same outside of its function."""
    kinds = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)
    scopes = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return not any(isinstance(one, (*kinds, *scopes)) for one in ast.walk(node))
