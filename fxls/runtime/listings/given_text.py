"""A listing around code that torch wrote, and not the engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from fxls.engine.code.codegen import MarkedCode, PythonCode, marked_code
from fxls.engine.graph import Graph
from fxls.listing import Identity, Mark, Parent, Remark, Role
from fxls.parsing import parse
from fxls.runtime.listings.layout import Layout
from fxls.runtime.listings.listing_text import ListingText

__all__ = ["GivenText"]


class GivenText(ListingText):
    """The listing of a graph whose text is there already."""

    def __init__(
        self,
        module: Any,
        graph: Graph,
        identity: Identity,
        source: str,
        layout: Layout,
        parents: tuple[Parent, ...] = (),
        written: MarkedCode | None = None,
        *,
        computes_gradients: bool = False,
        remarks: tuple[Remark, ...] = (),
        parameters: int | None = None,
    ) -> None:
        """`written` is the code that gave the text, where the engine wrote it."""
        self.identity = identity
        self.parents = parents
        self.computes_gradients = computes_gradients
        self.remarks = remarks
        self.parameters = parameters
        self.layout = layout
        self.code = written or _marked(graph, source)
        self._module = module
        self._graph = graph


def _marked(graph: Graph, source: str) -> MarkedCode:
    """The marks: from writing the graph, when that gives the same text."""
    written = marked_code(graph)
    if written.code.src == source:
        return written
    return _parsed(graph, source)


def _parsed(graph: Graph, source: str) -> MarkedCode:
    """The marks as Python's parser finds the names: for texts that others wrote.

    A node whose name the text lacks is said to be on the line of the ``def``.
    """
    function = _forward(parse(source))
    index = {
        str(node.target).lstrip("*"): i
        for i, node in enumerate(graph.nodes)
        if node.op == "placeholder"
    }
    index |= {node.name: i for i, node in enumerate(graph.nodes)}
    texts = source.split("\n")
    lines = [function.lineno - 1] * len(graph.nodes)
    marks: list[Mark] = []
    for name, at, role in _names(function):
        node = index.get(name)
        if node is not None:
            line = at.lineno - 1
            column = len(texts[line].encode()[: at.col_offset].decode())
            marks.append(Mark(line, column, len(name), node, role))
            if role is Role.BINDS:
                lines[node] = line
    returns = [at for at in function.body if isinstance(at, ast.Return)]
    for i, node in enumerate(graph.nodes):
        if node.op == "output" and returns:
            lines[i] = returns[-1].lineno - 1
    marks.sort(key=lambda m: (m.line, m.column))
    code = PythonCode(source, {}, {}, function.lineno)

    def below(lines: int) -> tuple[Mark, ...]:
        return tuple(structs.replace(one, line=one.line + lines) for one in marks)

    return MarkedCode(code, below, tuple(lines), function.lineno - 1)


def _names(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | ast.arg, Role]]:
    """Every local name of a function, where it stands, and what it does there."""
    for argument in _arguments(function.args):
        yield argument.arg, argument, Role.BINDS
    for statement in function.body:
        frees = isinstance(statement, ast.Assign) and _is_none(statement.value)
        binds = Role.FREES if frees else Role.BINDS
        for at in ast.walk(statement):
            if isinstance(at, ast.Name):
                yield at.id, at, binds if isinstance(at.ctx, ast.Store) else Role.READS


def _forward(module: ast.Module) -> ast.FunctionDef:
    return [at for at in module.body if isinstance(at, ast.FunctionDef)][-1]


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
