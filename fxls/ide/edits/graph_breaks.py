"""What repairs a graph break, at the expression that it is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from fxls.ide.edits.branches import branch_fixes
from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.edits.hoisting import hoisting_fixes
from fxls.ide.edits.python_source import Function, PythonSource, dotted
from fxls.ide.edits.telling import can_wait, is_logged, tells
from fxls.text import Span

__all__ = ["break_fixes"]

_LOGGER = "GB0291"
_BRANCH = "GB0170"
_DYNAMIC_SHAPE = "GB0036"
_SCALARS = frozenset({"GB0124", "GB0109", "GB0033"})
_DISABLED = "GB0098"
_MADE_BY_HAND = frozenset({"breakpoint", "pdb.set_trace", "torch._dynamo.graph_break"})


def break_fixes(source: PythonSource, span: Span, number: str) -> Iterator[Fix]:
    """What would let a graph go on, the likeliest first; `number` is torch's."""
    node = source.at(span)
    if isinstance(node, ast.expr):
        for fix in _fixes(source, node, number):
            yield replace(fix, can_be_tried=True)
        yield from hoisting_fixes(source, node)
        yield from _disabled(source, node)


def _fixes(source: PythonSource, node: ast.expr, number: str) -> Iterator[Fix]:
    if isinstance(node, ast.Call):
        yield from _printing(source, node)
        yield from _logging(source, node, number)
        yield from _taken_away(source, node)
        yield from _numbers(source, node, number)
        callee = source.imported_as(dotted(node.func))
        if callee == "copy.deepcopy" and len(node.args) == 1:
            said = _operand(source, node.args[0])
            edits = (Edit(source.span(node), f"{said}.clone()"),)
            yield Fix("Copy the tensor by clone()", source.path, edits)
        if number == _DISABLED:
            yield from _enabled(source, node)
    if number == _BRANCH:
        yield from branch_fixes(source, node)
    if number == _DYNAMIC_SHAPE:
        yield _configured(
            source,
            "Capture operators whose sizes depend on values",
            "capture_dynamic_output_shape_ops = True",
        )


def _printing(source: PythonSource, node: ast.Call) -> Iterator[Fix]:
    """Print behind the graph, or where nothing is compiled."""
    statement = next(source.around(node))
    callee = dotted(node.func)
    if not isinstance(statement, ast.Expr) or not tells(source, node):
        return
    if can_wait(source, node):
        fix = _configured(
            source,
            f"Let {callee} wait until the graph ran",
            f"reorderable_logging_functions.add({callee})",
            is_preferred=True,
        )
        yield replace(fix, edits=(*fix.edits, *_as_texts(source, node)))
    if source.has_own_lines(statement):
        inner = source.indentation(statement) + "    "
        line = f"if not {source.torch}.compiler.is_compiling():{source.ending}{inner}"
        start = source.span(statement).start
        edits = (*source.needs_torch(), Edit(Span(start, start), line))
        yield Fix(f"Leave {callee} out where it is compiled", source.path, edits)


def _as_texts(source: PythonSource, node: ast.Call) -> Iterator[Edit]:
    """A shape, which torch cannot keep until a graph ran, is printed by its text."""
    for one in node.args:
        match one:
            case (
                ast.Attribute(attr="shape")
                | ast.Call(func=ast.Attribute(attr="size"), args=[], keywords=[])
            ):
                yield Edit(source.span(one), f"str({source.said(one)})")
            case _:
                pass


def _logging(source: PythonSource, node: ast.Call, number: str) -> Iterator[Fix]:
    """Let torch leave out what one function of `logging` logs, or one method of loggers."""
    logging = source.said_as("logging")
    method = dotted(node.func).rpartition(".")[2]
    statement = next(source.around(node))
    if logging is None or not is_logged(node) or not isinstance(statement, ast.Expr):
        return
    if source.imported_as(dotted(node.func)) == f"logging.{method}":
        function = f"{logging}.{method}"
    elif number == _LOGGER:
        function = f"{logging}.Logger.{method}"
    else:
        return
    yield _configured(
        source,
        f"Leave each {method}() out where it is compiled",
        f"ignore_logging_functions.add({function})",
    )


def _taken_away(source: PythonSource, node: ast.Call) -> Iterator[Fix]:
    """Take away a call that asks for the break."""
    statement = next(source.around(node))
    callee = dotted(node.func)
    said = source.torch
    if callee.startswith(f"{said}."):
        callee = f"torch{callee[len(said) :]}"
    is_alone = isinstance(statement, ast.Expr) and source.has_own_lines(statement)
    if callee in _MADE_BY_HAND and isinstance(statement, ast.Expr) and is_alone:
        title = f"Take {callee}() away"
        edits = (source.without(statement),)
        yield Fix(title, source.path, edits, is_preferred=True)


def _numbers(source: PythonSource, node: ast.Call, number: str) -> Iterator[Fix]:
    """Numbers out of tensors: kept as tensors, or as unknown numbers of the graph."""
    of = node.func
    is_item = isinstance(of, ast.Attribute) and of.attr == "item" and not node.args
    branching = [*branch_fixes(source, node)] if is_item else []
    if branching:
        yield from branching
        return  # neither a tensor nor an unknown number says which way to go
    if is_item and isinstance(of, ast.Attribute):
        behind = Span(source.span(of.value).end, source.span(node).end)
        # Brackets around the tensor are not a part of it.
        said = source.lines.slice(behind)
        start = behind.end.column - (len(said) - said.rfind("."))
        if behind.start.line == behind.end.line:
            cut = Span.of(behind.end.line, start, behind.end.line, behind.end.column)
            # A number has no gradient, and the tensor it is out of may have one.
            title = "Keep it a tensor: detach() instead of item()"
            edits = (Edit(cut, ".detach()"),)
            yield Fix(title, source.path, edits, is_preferred=True)
    is_number = isinstance(of, ast.Name) and of.id in ("int", "float", "bool")
    is_taken = is_item or (isinstance(of, ast.Attribute) and of.attr == "tolist")
    if number in _SCALARS and (is_number or is_taken):
        yield _configured(
            source,
            "Capture numbers that depend on values",
            "capture_scalar_outputs = True",
        )


def _enabled(source: PythonSource, node: ast.Call) -> Iterator[Fix]:
    """Compile a function of the file that somebody took out of compilation."""
    name = dotted(node.func)
    for one in source.tree.body:
        if not isinstance(one, Function) or one.name != name:
            continue
        for decorator in one.decorator_list:
            of = decorator.func if isinstance(decorator, ast.Call) else decorator
            if dotted(of).rpartition(".")[2] != "disable":
                continue
            span = source.span(decorator)
            cut = Span.of(span.start.line, 0, span.end.line + 1, 0)
            said = source.lines.line(span.start.line).strip()
            title = f"Compile {name} as well: without {said}"
            yield Fix(title, source.path, (Edit(cut, ""),))


def _disabled(source: PythonSource, node: ast.expr) -> Iterator[Fix]:
    """Leave the whole function to Python, where nobody asks for one graph."""
    function = source.function(node)
    if function is None or not source.has_own_lines(function) or _is_full(source):
        return
    said = f"@{source.torch}.compiler.disable"
    edits = (*source.needs_torch(), source.above(function, said))
    title = f"Leave {function.name} to Python: {said}"
    yield Fix(title, source.path, edits)


def _is_full(source: PythonSource) -> bool:
    """Whether something in the file asks for a graph without breaks."""
    return any(
        isinstance(one, ast.keyword)
        and one.arg == "fullgraph"
        and not (isinstance(one.value, ast.Constant) and not one.value.value)
        for one in ast.walk(source.tree)
    )


def _configured(
    source: PythonSource, title: str, setting: str, *, is_preferred: bool = False
) -> Fix:
    """Set an option of Dynamo behind the imports."""
    edits = source.behind_imports(f"{{torch}}._dynamo.config.{setting}")
    return Fix(f"{title}: {setting}", source.path, edits, is_preferred)


def _operand(source: PythonSource, node: ast.expr) -> str:
    """An expression as it is written ahead of an attribute."""
    said = source.said(node)
    is_tight = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return said if is_tight else f"({said})"
