"""Branches on values that are known only when a graph runs, written into the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.edits.python_source import PythonSource
from fxls.ide.edits.telling import tells
from fxls.text import Span

__all__ = ["assumptions", "branch_fixes"]


def branch_fixes(source: PythonSource, node: ast.expr) -> Iterator[Fix]:
    """What takes the place of a branch on a tensor, or on a number out of one.

    The tensor may be a part of what is asked.
    """
    test, parent = _test(source, node)
    if isinstance(parent, ast.If) and _only_tells(source, parent):
        yield _left_out(source, test)
    asked = _asked(source, test)
    if asked is None:
        return
    if isinstance(parent, ast.Assert) and parent.test is test:
        yield _asserted(source, parent, asked)
        return
    if isinstance(parent, ast.If) and _raises(parent) and parent.test is test:
        text = f"{source.torch}.logical_not({asked})"
        yield _asserted(source, parent, text)
        return
    choice = _choice(source, test, parent)
    if choice is None:
        return
    torch = source.torch
    then, other = (source.argument(one) for one in (choice.then, choice.other))
    imported = source.needs_torch()
    both = isinstance(choice.then, ast.Tuple) or isinstance(choice.other, ast.Tuple)
    if not both:
        text = f"{choice.before}{torch}.where({asked}, {then}, {other})"
        title = "Compute both and choose: torch.where"
        edits = (*imported, Edit(choice.span, text))
        yield Fix(title, source.path, edits, is_preferred=True)
    if not any(isinstance(one, ast.Constant) for one in (choice.then, choice.other)):
        then, other = (_own(source, one) for one in (choice.then, choice.other))
        call = f"{torch}.cond({asked}, lambda: {then}, lambda: {other})"
        edits = (*imported, Edit(choice.span, choice.before + call))
        yield Fix("Branch in the graph: torch.cond", source.path, edits)


def assumptions(source: PythonSource, test: ast.expr) -> Iterator[tuple[str, ...]]:
    """What may hold of the numbers that a branch asks for: first that it is taken, then
    that it is not. Each is conditions that hold together, as arguments of
    ``torch._check``; none are said where they would ask for a truth themselves.
    """
    for is_taken in (True, False):
        found = _conditions(source, test, is_taken=is_taken)
        if found:
            yield found


def _conditions(
    source: PythonSource, test: ast.expr, *, is_taken: bool
) -> tuple[str, ...]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _conditions(source, operand, is_taken=not is_taken)
        case ast.BoolOp(op=op, values=values):
            if isinstance(op, ast.And) is not is_taken:
                return ()  # one of them holds, and nobody knows which
            parts = [_conditions(source, one, is_taken=is_taken) for one in values]
            return tuple(one for part in parts for one in part) if all(parts) else ()
        case ast.Compare(left=left, ops=ops, comparators=others):
            operands = [left, *others]
            if any(isinstance(one, ast.Tuple | ast.List) for one in operands):
                return ()
            if len(ops) > 1 and not is_taken:
                return ()
            words = (_WORDS if is_taken else _CONTRARY).get
            said = [source.said(one) for one in operands]
            pairs = zip(said, map(words, map(type, ops)), said[1:], strict=False)
            found = [(one, word, two) for one, word, two in pairs if word is not None]
            whole = len(found) == len(ops)
            return tuple(map(" ".join, found)) if whole else ()
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return (f"{source.said(test)} {'!=' if is_taken else '=='} 0",)
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class _Choice:
    """Two values of which a branch takes one."""

    span: Span
    """What the choice takes the place of."""
    before: str
    """What is written ahead of the value there."""
    then: ast.expr
    other: ast.expr


def _choice(source: PythonSource, test: ast.expr, parent: ast.AST) -> _Choice | None:
    if isinstance(parent, ast.IfExp) and parent.test is test:
        found = _Choice(source.span(parent), "", parent.body, parent.orelse)
    elif isinstance(parent, ast.If) and parent.test is test:
        found = _of_statement(source, parent)
    else:
        return None
    if found is None or not all(_may_move(one) for one in (found.then, found.other)):
        return None
    return found


def _of_statement(source: PythonSource, branch: ast.If) -> _Choice | None:
    if len(branch.body) != 1 or len(branch.orelse) > 1:
        return None
    if not source.has_own_lines(branch):
        return None
    then, span = branch.body[0], source.span(branch)
    other = branch.orelse[0] if branch.orelse else None
    if isinstance(then, ast.Return):
        if other is None:
            block = source.block(branch)
            at = block.index(branch) + 1
            other = block[at] if at < len(block) else None
            if other is None or not source.has_own_lines(other):
                return None
            span = Span(span.start, source.span(other).end)
        if isinstance(other, ast.Return) and then.value and other.value:
            return _Choice(span, "return ", then.value, other.value)
        return None
    name = _assigned(source, then)
    if name is None or not isinstance(then, ast.Assign):
        return None
    if other is None:
        return _Choice(span, f"{name} = ", then.value, then.targets[0])
    if isinstance(other, ast.Assign) and _assigned(source, other) == name:
        return _Choice(span, f"{name} = ", then.value, other.value)
    return None


def _assigned(source: PythonSource, statement: ast.stmt) -> str | None:
    """The one place that a statement binds to the value of an expression."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    # What is called to find the place would be called twice.
    is_place = isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
    calls = any(isinstance(one, ast.Call) for one in ast.walk(target))
    return source.said(target) if is_place and not calls else None


def _asserted(source: PythonSource, statement: ast.stmt, condition: str) -> Fix:
    said = f"{source.torch}._assert_async({condition})"
    edits = (*source.needs_torch(), Edit(source.span(statement), said))
    return Fix("Assert it in the graph, as a RuntimeError", source.path, edits)


def _raises(branch: ast.If) -> bool:
    return (
        len(branch.body) == 1
        and isinstance(branch.body[0], ast.Raise)
        and not branch.orelse
    )


def _test(source: PythonSource, node: ast.expr) -> tuple[ast.expr, ast.AST]:
    """All that is asked, of which an expression may be a part, and what asks it."""
    test = node
    for parent in source.around(node):
        if not isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.Compare | ast.BinOp):
            return test, parent
        test = parent
    raise AssertionError("an expression is in a statement")


def _asked(source: PythonSource, test: ast.expr) -> str | None:
    """What a branch asks, as a tensor that has the answer; None where it asks what can be
    no tensor.
    """
    torch = source.torch
    match test:
        case ast.BoolOp(op=op, values=values):
            parts = [_asked(source, one) for one in values]
            found = [one for one in parts if one is not None]
            computed = all(isinstance(one, _COMPUTED) for one in values)
            if len(found) < len(values) or not computed:
                return None
            name = "logical_and" if isinstance(op, ast.And) else "logical_or"
            text = found[0]
            for one in found[1:]:
                text = f"{torch}.{name}({text}, {one})"
            return text
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            text = _asked(source, operand)
            return text and f"{torch}.logical_not({text})"
        case ast.Compare(ops=ops) if any(isinstance(one, _OF_OBJECTS) for one in ops):
            return None
        case _:
            return _without_items(source, test)


def _without_items(source: PythonSource, node: ast.expr) -> str:
    """An expression as it is written, with tensors where it takes numbers out of them."""
    text = source.argument(node)
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Attribute(attr="item", value=tensor), args=[]):
                text = text.replace(source.said(one), source.said(tensor))
            case _:
                pass
    return text


def _only_tells(source: PythonSource, branch: ast.If) -> bool:
    """Whether a branch does nothing but print, warn or log."""
    return not branch.orelse and all(
        isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        and tells(source, one.value)
        for one in branch.body
    )


def _left_out(source: PythonSource, test: ast.expr) -> Fix:
    start, end = source.span(test).start, source.span(test).end
    before = f"not {source.torch}.compiler.is_compiling() and "
    is_bare = isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda)
    edits = (Edit(Span(start, start), f"{before}{'(' * is_bare}"),)
    if is_bare:
        edits = (*edits, Edit(Span(end, end), ")"))
    title = "Leave the check out where it is compiled"
    return Fix(title, source.path, (*source.needs_torch(), *edits))


def _own(source: PythonSource, node: ast.expr) -> str:
    """A value of a branch that shares no memory with an input, which torch refuses."""
    if isinstance(node, ast.Tuple):
        parts = [_own(source, one) for one in node.elts]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    is_path = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    return f"{source.argument(node)}.clone()" if is_path else source.argument(node)


def _may_move(node: ast.expr) -> bool:
    """Whether an expression means the same in a function of its own."""
    return not any(
        isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        for one in ast.walk(node)
    )


_COMPUTED = ast.Call | ast.Compare | ast.UnaryOp | ast.BoolOp
"""What a tensor is computed by; a name may be that of a number or a setting."""
_OF_OBJECTS = ast.Is | ast.IsNot | ast.In | ast.NotIn

_CONTRARY: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
_WORDS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
