"""What keeps a function from being compiled again, by what failed of its guards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.edits.python_source import Function, PythonSource, dotted
from fxls.text import Span

__all__ = ["recompilation_fixes"]


def recompilation_fixes(source: PythonSource, span: Span, about: str) -> Iterator[Fix]:
    """What would make that a value of the graph; `about` says what the guard is about."""
    size = _SIZE.fullmatch(about)
    function = _function_of_parameter(source, span)
    if function is not None:
        if size is not None:
            yield from _marked(source, function, size["name"], int(size["index"]))
        if size is not None or _NAME.fullmatch(about):
            yield from _dynamic(source, function)
    attribute = _ATTRIBUTE.fullmatch(about)
    if attribute is not None:
        yield from _counted(source, span, attribute["own"], attribute["name"])


def _function_of_parameter(source: PythonSource, span: Span) -> Function | None:
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            of = node.args
            for one in (*of.posonlyargs, *of.args, *of.kwonlyargs):
                at = source.point_of(one)
                if at == span.start:
                    return node
    return None


def _marked(
    source: PythonSource, function: Function, name: str, index: int
) -> Iterator[Fix]:
    """Say of an argument, where a function is called, that its size may be any."""
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if source.method_of(function) is not None or name not in parameters:
        return
    compiled = {of for of, _ in _compiled(source, function)}
    inside = set(ast.walk(function))
    edits: list[Edit] = []
    marked: set[tuple[ast.stmt, str]] = set()
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call) or call in inside:
            continue
        if dotted(call.func) not in compiled:
            continue
        given = _given(call, parameters.index(name), name)
        statement = source.statement(call)
        if not isinstance(given, ast.Name) or not isinstance(statement, _SIMPLE):
            continue
        if (statement, given.id) in marked or not source.has_own_lines(statement):
            continue
        marked.add((statement, given.id))
        line = f"{source.torch}._dynamo.mark_dynamic({given.id}, {index})"
        edits.append(source.above(statement, line))
    if edits:
        title = f"Say that size {index} of {name} may be any: mark_dynamic"
        yield Fix(
            title, source.path, (*edits, *source.needs_torch()), is_preferred=True
        )


def _dynamic(source: PythonSource, function: Function) -> Iterator[Fix]:
    """Compile a function for all sizes and numbers at once."""
    for _, made in _compiled(source, function):
        if isinstance(made, ast.Call):
            if any(one.arg in ("dynamic", None) for one in made.keywords):
                continue
            end = source.span(made).end
            end = source.lines.point(source.lines.offset(end) - 1)
            last = [*made.args, *made.keywords]
            comma = ", " if last else ""
            edit = Edit(Span(end, end), f"{comma}dynamic=True")
        else:
            end = source.span(made).end
            edit = Edit(Span(end, end), "(dynamic=True)")
        title = "Compile it for all sizes: dynamic=True"
        yield Fix(title, source.path, (edit,))


def _counted(source: PythonSource, span: Span, own: str, name: str) -> Iterator[Fix]:
    """Make a number that a module counts with a tensor."""
    classes = [
        one
        for one in ast.walk(source.tree)
        if isinstance(one, ast.ClassDef) and source.span(one).encloses(span)
    ]
    for method in classes[-1].body if classes else ():
        if not (isinstance(method, Function) and method.name == "__init__"):
            continue
        for one in ast.walk(method):
            if not isinstance(one, ast.Assign) or len(one.targets) != 1:
                continue
            value = one.value
            if dotted(one.targets[0]) == f"{own}.{name}" and _is_number(value):
                text = f"{source.torch}.tensor({source.said(value)})"
                edits = (*source.needs_torch(), Edit(source.span(value), text))
                title = f"Make {own}.{name} a tensor"
                yield Fix(title, source.path, edits, is_preferred=True)


def _compiled(
    source: PythonSource, function: Function
) -> Iterator[tuple[str, ast.expr]]:
    """By which name a function is called compiled, and what compiles it."""
    said = f"{source.torch}.compile"
    for one in function.decorator_list:
        made = one.func if isinstance(one, ast.Call) else one
        if dotted(made) == said:
            yield function.name, one
    of = source.method_of(function)
    wanted = {function.name} if of is None else {of.name} | _made_of(source, of.name)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        call = node.value
        if isinstance(call, ast.Call) and dotted(call.func) == said and call.args:
            first = call.args[0]
            first = first.func if isinstance(first, ast.Call) else first
            if dotted(first) in wanted:
                yield dotted(node.targets[0]), call


def _made_of(source: PythonSource, name: str) -> set[str]:
    """The names that are bound to an instance of a class."""
    return {
        dotted(one.targets[0])
        for one in ast.walk(source.tree)
        if isinstance(one, ast.Assign)
        and isinstance(one.value, ast.Call)
        and dotted(one.value.func) == name
    } - {""}


def _given(call: ast.Call, index: int, name: str) -> ast.expr | None:
    """The argument for a parameter, as far as no star stands before it."""
    if any(isinstance(one, ast.Starred) for one in call.args[: index + 1]):
        return None
    if index < len(call.args):
        return call.args[index]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


_SIZE = re.compile(r"(?P<name>\w+): size (?P<index>\d+)")
_NAME = re.compile(r"[^\W\d]\w*")
_ATTRIBUTE = re.compile(r"(?P<own>[^\W\d]\w*)\.(?P<name>[^\W\d]\w*)")
_SIMPLE = ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return
"""What stands above such a statement runs just before it."""
