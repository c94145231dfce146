"""What tells torch.export of a number that only a run knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxls.ide.edits.branches import assumptions, branch_fixes
from fxls.ide.edits.fix import Fix
from fxls.ide.edits.python_source import PythonSource, source_of
from fxls.text import Span

__all__ = ["check_fixes"]


def check_fixes(
    source: PythonSource, span: Span, conditions: tuple[str, ...], *, is_tensor: bool
) -> Iterator[Fix]:
    """Lines of ``torch._check`` above a statement, as torch advises, or as it branches.

    `is_tensor` says whether what is asked for is in a tensor, and is no number.
    """
    test = _test_at(source, span)
    if is_tensor:
        if test is not None:
            yield from branch_fixes(source, test)
        return
    statement = _statement_at(source, span)
    if statement is None or not source.has_own_lines(statement):
        return
    choices = [_in_parts(one) for one in conditions]
    if not choices and test is not None:
        choices = [*assumptions(source, test)]
    for held in choices:
        lines = [f"{source.torch}._check({one})" for one in held]
        edits = (source.above(statement, one) for one in lines)
        title = f"Tell torch that it holds: {'; '.join(lines)}"
        yield Fix(title, source.path, (*source.needs_torch(), *edits))


def _in_parts(condition: str) -> tuple[str, ...]:
    """A condition as torch words it, of which no part is a truth that a number has."""
    source = source_of(condition, "")
    body = source.tree.body if source is not None else []
    if source is not None and len(body) == 1 and isinstance(body[0], ast.Expr):
        return next(assumptions(source, body[0].value), (condition,))
    return (condition,)


def _test_at(source: PythonSource, span: Span) -> ast.expr | None:
    """The condition that a place is; also where the place is the whole of a branch."""
    node = source.at(span)
    if isinstance(node, _ASKING):
        return node.test
    while isinstance(node, ast.expr):
        parent = next(source.around(node))
        if isinstance(parent, _ASKING) and parent.test is node:
            return node
        # torch stops at the first part whose truth it needs.
        node = parent if isinstance(parent, ast.BoolOp | ast.UnaryOp) else None
    return None


def _statement_at(source: PythonSource, span: Span) -> ast.stmt | None:
    """The statement that a place is in; above an `elif` nothing can stand."""
    node = source.at(span)
    found = None if node is None else source.statement(node)
    return None if found is None or not source.has_own_lines(found) else found


_ASKING = ast.If | ast.IfExp | ast.Assert
