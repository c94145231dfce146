"""Which function of a source a line is in, by the names around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxls.ide.syntax.quiet_parser import parsed

__all__ = ["FunctionNames"]


class FunctionNames:
    """The functions of one text, each named with the classes and functions around it."""

    def __init__(self, text: str) -> None:
        """Of a text with faults, no function is known."""
        tree = parsed(text)
        self._found = None if tree is None else [*_functions(tree)]

    def at(self, line: int) -> str | None:
        """The name of the innermost one; None for a text with faults."""
        if self._found is None:
            return None
        # Those inside of another one come behind it.
        around = (name for start, end, name in self._found if start <= line <= end)
        return [_OUTSIDE, *around][-1]


_OUTSIDE = "<module>"


def _functions(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """The first line, the last line and the name of each function, from the outside."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, around = waiting.pop()
        name = around
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{around}.{node.name}" if around else node.name
            if not isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield first - 1, (node.end_lineno or node.lineno) - 1, name
        waiting += ((child, name) for child in ast.iter_child_nodes(node))
