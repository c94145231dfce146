"""Whether a node computes what an expression gives, where torch says little of places.

torch.export keeps the line of a node and no columns; torch.compile often knows where an
expression starts, and not where it ends: in ``x.max().item()`` three start at one place.
The outermost operation of the expression must then be the one of the node.
"""

from __future__ import annotations

import ast

from fxls.ide.listing.document import Document
from fxls.listing import Facts, Items

__all__ = ["agrees", "is_alone_at_its_start", "taken_out"]


def is_alone_at_its_start(value: ast.expr) -> bool:
    """Whether no part of an expression that computes something starts where it does."""
    first = _first(value)
    while first is not None:
        if isinstance(first, _COMPUTING):
            return False
        first = _first(first)
    return True


def agrees(value: ast.expr, document: Document, frame: int, node: int) -> bool:
    """Whether the last operation of an expression is that of a node on its line.

    `frame` is that of the line, in which the node was made or which called what made it.
    """
    facts = document.listing.nodes[node]
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            sides = [agrees(one, document, frame, node) for one in (body, orelse)]
            still = [isinstance(one, ast.Name | ast.Constant) for one in (body, orelse)]
            return any(sides) and all(a or b for a, b in zip(sides, still, strict=True))
        case ast.NamedExpr(value=inner):
            return agrees(inner, document, frame, node)
        case ast.Call(func=function):
            return _is_called(function, value, document, frame, node)
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.Compare(ops=[op]):
            return is_operation(op, facts)
        case ast.Subscript():
            return bool(_operations(facts) & _INDEXING)
        case ast.Attribute(attr=name):
            return name in _operations(facts)
        case _:
            return False


def taken_out(
    value: ast.expr, document: Document, frame: int, item: int, count: int
) -> int | None:
    """The node that takes an item out of what a call gives, which has `count` of them.

    A module, or a function of the user's, may compute its items by any operation.
    """
    nodes = document.listing.nodes
    own = document.made_in(frame)
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            called = [n for n in own if name.strip("_") in _operations(nodes[n])]
        case _:
            return None
    given = nodes[called[-1]].value if called else None
    if not isinstance(given, Items) or len(given.items) != count:
        return None
    taken = ((called[-1],), (str(item),))
    return next(
        (n for n in own if "getitem" in nodes[n].target and nodes[n].args == taken),
        None,
    )


def is_operation(operator: ast.AST, facts: Facts) -> bool:
    """Whether a node does what an operator of Python does."""
    return bool(_operations(facts) & _OPERATORS.get(type(operator), frozenset()))


def _is_called(
    function: ast.expr, call: ast.Call, document: Document, frame: int, node: int
) -> bool:
    """Whether a node is, or was made last in, what a call calls."""
    facts = document.listing.nodes[node]
    callee = _callee(document, frame, node)
    scopes = {
        scope.path.rpartition(".")[2] for scope in document.listing.module_path(node)
    }
    is_forward = callee in (None, "forward")
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name) if callee == name:
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name) if (
            callee is None and name.strip("_") in _operations(facts)
        ):
            return True
        case ast.Attribute(attr=name):
            return is_forward and name in scopes
        case ast.Name() | ast.Subscript():
            # A module in a variable, or in a list: nothing else on the line calls.
            parts = [one for one in ast.walk(call) if isinstance(one, ast.Call)]
            return parts == [call] and is_forward and bool(scopes - {""})
        case _:
            return False


def _callee(document: Document, frame: int, node: int) -> str | None:
    """The function that the line called, in which a node was made; None for none."""
    rows = document.listing.frames
    found: str | None = None
    row = document.listing.nodes[node].origin
    while row is not None and row != frame:
        found = rows[row].function.rpartition(".")[2]
        row = rows[row].caller
    return found


def _operations(facts: Facts) -> set[str]:
    """The names that a target has, as ``{"torch", "ops", "aten", "relu", "default"}``."""
    if facts.opcode == "call_module":
        return set()
    return {part.strip("_") for part in facts.target.split(".")}


def _first(value: ast.AST) -> ast.AST | None:
    """The part that an expression begins with."""
    match value:
        case ast.Call(func=first) | ast.Attribute(value=first):
            return first
        case ast.Subscript(value=first) | ast.BinOp(left=first):
            return first
        case ast.Compare(left=first) | ast.IfExp(body=first):
            return first
        case ast.BoolOp(values=[first, *_]):
            return first
        case _:
            return None


_COMPUTING = (ast.Call, ast.Subscript, ast.BinOp, ast.Compare, ast.IfExp, ast.BoolOp)

_INDEXING = frozenset({"getitem", "select", "slice", "index", "unsqueeze"})

_OPERATORS: dict[type[ast.AST], frozenset[str]] = {
    ast.Add: frozenset({"add", "iadd", "radd"}),
    ast.Sub: frozenset({"sub", "isub", "rsub"}),
    ast.Mult: frozenset({"mul", "imul", "rmul"}),
    ast.Div: frozenset({"div", "truediv", "itruediv"}),
    ast.FloorDiv: frozenset({"floordiv", "ifloordiv", "floor_divide"}),
    ast.Mod: frozenset({"mod", "imod", "remainder"}),
    ast.Pow: frozenset({"pow", "ipow"}),
    ast.MatMult: frozenset({"matmul", "imatmul", "mm", "bmm", "mv"}),
    ast.BitAnd: frozenset({"and", "iand", "bitwise_and", "logical_and"}),
    ast.BitOr: frozenset({"or", "ior", "bitwise_or", "logical_or"}),
    ast.USub: frozenset({"neg"}),
    ast.Invert: frozenset({"invert", "bitwise_not", "logical_not"}),
    ast.Eq: frozenset({"eq"}),
    ast.NotEq: frozenset({"ne"}),
    ast.Lt: frozenset({"lt"}),
    ast.LtE: frozenset({"le"}),
    ast.Gt: frozenset({"gt"}),
    ast.GtE: frozenset({"ge"}),
}
