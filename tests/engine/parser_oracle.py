"""The marks of generated code as Python's own parser finds them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxls.engine.graph import Graph
from fxls.listing import Mark, Role

__all__ = ["marks_by_parser"]


def marks_by_parser(text: str, graph: Graph) -> list[Mark]:
    """Every name of a node in the code of a graph, in the order of the text."""
    place = {node.name: i for i, node in enumerate(graph.nodes)}
    lines = text.split("\n")
    marks: list[Mark] = []
    for line, byte, name, role in _names(ast.parse(text)):
        if name in place:
            column = len(lines[line - 1].encode()[:byte].decode())
            marks.append(Mark(line - 1, column, len(name), place[name], role))
    return sorted(marks, key=lambda mark: mark.span)


def _names(tree: ast.AST) -> Iterator[tuple[int, int, str, Role]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg != "self":
            yield node.lineno, node.col_offset, node.arg, Role.BINDS
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            frees = isinstance(node.value, ast.Constant) and node.value.value is None
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    role = Role.FREES if frees else Role.BINDS
                    yield target.lineno, target.col_offset, target.id, role
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            target = node.target  # ``a += b`` reads the value that a is
            yield target.lineno, target.col_offset, target.id, Role.READS
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.col_offset, node.id, Role.READS
