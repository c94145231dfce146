"""What the expression of a statement says of the numbers of its value.

Where it says nothing, a look at the value or at its gradients has to tell.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

__all__ = [
    "called",
    "hands_on",
    "is_bare",
    "is_view",
    "keeps_finite",
    "makes_no_nan",
]


def is_bare(value: ast.expr, bound: Collection[str], bare: Collection[str]) -> bool:
    """Whether a value is a size, a dtype or a device, or computed of such."""
    match value:
        case ast.Name(id=name):
            return name in bare
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return name in bound and attribute in _BARE_ATTRIBUTES
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return name in bound and method in _BARE_METHODS
        case ast.Call():
            return called(value) in _BARE_FUNCTIONS and _is_torchs(value.func)
        case ast.Subscript(value=owner):
            return is_bare(owner, bound, bare)
        case ast.BinOp(left=left, op=operator, right=right):
            # A quotient is no whole number, and may be NaN.
            return isinstance(operator, _OF_WHOLE_NUMBERS) and all(
                _is_whole(one, bare) for one in (left, right)
            )
        case _:
            return False


def _is_whole(value: ast.expr, bare: Collection[str]) -> bool:
    match value:
        case ast.Constant(value=int()):
            return True
        case ast.Tuple(elts=items):
            return all(_is_whole(item, bare) for item in items)
        case _:
            return isinstance(value, ast.Name) and value.id in bare


def hands_on(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether a value has no numbers but those of tensors that it reads."""
    match value:
        case ast.Subscript(value=ast.Name(id=name)):
            return name in bound
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name in bound:
            pass
        case ast.Call(args=[ast.Name(id=name), *_]) if _is_torchs(value.func):
            if name not in bound:
                return False
        case ast.Call(args=[ast.List(elts=items) | ast.Tuple(elts=items), *_]):
            if not _is_torchs(value.func) or not all(
                isinstance(item, ast.Name) and item.id in bound for item in items
            ):
                return False
        case _:
            return False
    given = (*value.args, *(keyword.value for keyword in value.keywords))
    operator = called(value)
    # Numbers that are read as those of another type may be any.
    return operator in _MOVES and not (
        operator == "view"
        and any(isinstance(at, ast.Attribute) for one in given for at in ast.walk(one))
    )


def is_view(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether a value is one tensor that is read, in another shape or in parts.

    Where that is strided, the nodes that it makes for autograd hand on what they get.
    """
    is_called = isinstance(value, ast.Call) and called(value) in _VIEWS
    return is_called and hands_on(value, bound)


def makes_no_nan(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether a value is made of one that is read, and of numbers that are written, by
    what has a result for all numbers, infinite ones included.
    """
    name, given = _applied(value, bound)
    is_read = [isinstance(item, ast.Name) and item.id in bound for item in given]
    numbers = [_number(item) for item in given]
    match name, is_read, numbers:
        case "masked_fill", [True, _, False], [_, _, float()]:
            return True
        case _, [True], _:
            return name in _WITHOUT_NAN
        case "add" | "sub", ([True, False] | [False, True]), _:
            return any(number is not None for number in numbers)
        # Zero times infinity is NaN.
        case "mul", [True, False], [None, float(number)]:
            return number != 0
        case "mul", [False, True], [float(number), None]:
            return number != 0
        case "div", [True, False], [None, float(number)]:
            return number != 0
        case "pow", [True, False], [None, float(number)]:
            return number >= 1 and number.is_integer()
        case _:
            return False


def keeps_finite(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether a value is a sum or a difference, or is scaled by what is at most one."""
    name, given = _applied(value, bound)
    match name, [_number(item) for item in given]:
        case "expand" | "expand_as", _:
            return True
        case "masked_fill", [None, None, float()]:
            return True
        case "add" | "sub", [one, two]:
            return all(
                number is not None or isinstance(item, ast.Name)
                for item, number in zip(given, (one, two), strict=True)
            )
        case "mul", ([None, float(number)] | [float(number), None]):
            return 0 < abs(number) <= 1
        case "div", [None, float(number)]:
            return abs(number) >= 1
        case _:
            return False


def _applied(value: ast.expr, bound: Collection[str]) -> tuple[str, Sequence[ast.expr]]:
    """An operator of torch's or a method of a node, and to what without keywords."""
    match value:
        case ast.BinOp(left=left, op=operator, right=right):
            return _OPERATORS.get(type(operator), ""), (left, right)
        case ast.Call(func=ast.Attribute(value=owner), args=given, keywords=[]):
            if isinstance(owner, ast.Name) and owner.id in bound:
                return called(value), (owner, *given)
            return (called(value), given) if _is_torchs(owner) else ("", ())
        case _:
            return "", ()


def _number(value: ast.expr) -> float | None:
    """A number that is written in the text; None for all else, and for what a type of
    few bits takes for zero or for infinity.
    """
    match value:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case ast.Constant(value=int() | float() as number) if type(number) is not bool:
            is_plain = number == 0 or 1e-6 <= abs(number) <= 6e4
            return float(number) if is_plain else None
        case _:
            return None


def _is_torchs(function: ast.expr) -> bool:
    """Whether a function is one of torch's own: not one that was registered with it."""
    path = f"{ast.unparse(function)}."
    is_registered = path.startswith("torch.ops.")
    return path.startswith("torch.ops.aten." if is_registered else "torch.")


def called(call: ast.Call) -> str:
    """``empty`` of ``torch.empty`` and of ``torch.ops.aten.empty.memory_format``."""
    match call.func:
        case ast.Attribute(value=ast.Attribute(value=ast.Attribute(), attr=name)):
            return name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


_BARE_ATTRIBUTES = {"device", "dtype", "ndim", "shape"}
_BARE_METHODS = {"dim", "ndimension", "nelement", "numel", "size", "stride"}
_BARE_FUNCTIONS = {"sym_numel", "sym_size", "sym_storage_offset", "sym_stride"}
_OF_WHOLE_NUMBERS = (ast.Add, ast.FloorDiv, ast.Mod, ast.Mult, ast.Sub)

_MOVES = {
    *("alias", "cat", "chunk", "clone", "contiguous", "detach", "expand", "expand_as"),
    *("flatten", "flip", "movedim", "narrow", "permute", "repeat", "reshape", "roll"),
    *("select", "slice", "split", "split_with_sizes", "squeeze", "stack", "swapaxes"),
    *("t", "transpose", "unbind", "unflatten", "unsqueeze", "view", "view_as"),
    *("_unsafe_view", "_reshape_alias"),
}
"""Operators that give parts of what they get, or the same numbers at other places."""

_VIEWS = {
    *("movedim", "narrow", "permute", "select", "split", "squeeze", "swapaxes", "t"),
    *("transpose", "unflatten", "unsqueeze", "view", "_unsafe_view"),
}
"""Operators that never copy: what is changed in place is changed in these as well."""

_WITHOUT_NAN = {"abs", "exp", "neg", "relu", "sigmoid", "tanh"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}
