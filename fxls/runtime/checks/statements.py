"""What the statements of a listing bind, read from their syntax."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Statement", "bound_by", "changes_in_place", "statement_of", "target_of"]


@dataclass(frozen=True, slots=True)
class Statement:
    """What binds a name in a listing."""

    line: int
    """Counted from one."""
    reads: tuple[str, ...] = ()
    """The names of other nodes that it uses."""
    casts: bool = False
    """Whether it says itself which dtype the value shall have."""
    says_infinite: bool = False
    """Whether it writes ``inf`` itself, as masks do."""
    leaves_empty: bool = False
    """Whether its value is memory that nobody has written to."""
    module: str | None = None
    """The path of the submodule that it calls."""
    attribute: str | None = None
    """The path of the attribute of the module that it reads."""
    is_given: bool = False
    """Whether its value comes from who calls."""
    is_bare: bool = False
    """Whether its text says that its value is a size, a dtype or a device."""
    hands_on: bool = False
    """Whether its value is of numbers that tensors which it reads have, and no others."""
    makes_no_nan: bool = False
    """Whether real numbers that are not NaN give none."""
    keeps_finite: bool = False
    """Whether its backward makes finite gradients of finite ones, and NaN of NaN alone,
    where all tensors that it reads are of the shape of its value."""


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, unless it frees them."""
    target = target_of(statement)
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (at.id for at in target.elts if isinstance(at, ast.Name))


def target_of(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(value=ast.Constant(value=None)):
            return None
        case (
            ast.Assign(targets=[target])
            | ast.AnnAssign(target=target, value=ast.expr())
        ):
            return target
        case _:
            return None


def changes_in_place(statement: ast.stmt) -> bool:
    """Whether a statement changes a value in place, and binds no name."""
    match statement:
        case ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]):
            return True
        case _:
            return False


def statement_of(
    statement: ast.stmt,
    before: Sequence[ast.stmt],
    bound: Collection[str],
    bare: Collection[str],
) -> Statement:
    """What a statement binds.

    - `before` is what belongs to the same node and stands in front of it.
    - `bound` are the names of all nodes, `bare` those known to be of no tensor.
    """
    value = (
        statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    )
    assert value is not None, "only these bind"
    reads: dict[str, None] = {}
    casts = infinite = empty = False
    for at in (at for one in (value, *before) for at in ast.walk(one)):
        if isinstance(at, ast.Name) and at.id in bound:
            reads[at.id] = None
        elif isinstance(at, ast.Name):
            infinite = infinite or at.id == "inf"
        elif isinstance(at, ast.Call):
            casts = casts or _is_cast(at)
            empty = empty or _called(at) in _EMPTY
    module = _path(value.func) if isinstance(value, ast.Call) else None
    return Statement(
        *(statement.lineno, tuple(reads), casts, infinite, empty, module),
        attribute=_path(value),
        is_given=isinstance(value, ast.Call) and _called(value) == "next",
        is_bare=not before and _is_bare(value, bound, bare),
        hands_on=not before and _hands_on(value, bound),
        makes_no_nan=not before and _makes_no_nan(value, bound),
        keeps_finite=not before and _keeps_finite(value, bound),
    )


def _path(called: ast.expr) -> str | None:
    """``a.0`` of ``getattr(self.a, "0")``; None for what is no part of `self`."""
    match called:
        case ast.Name(id="self"):
            return ""
        case (
            ast.Attribute(value=owner, attr=name)
            | ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=name)]
            )
        ):
            path = _path(owner)
            return None if path is None else f"{path}.{name}".removeprefix(".")
        case _:
            return None


def _is_cast(call: ast.Call) -> bool:
    named = any(keyword.arg == "dtype" for keyword in call.keywords)
    return named or (isinstance(call.func, ast.Attribute) and call.func.attr in _CASTS)


def _is_bare(value: ast.expr, bound: Collection[str], bare: Collection[str]) -> bool:
    """Whether a value is a size, a dtype or a device, or computed of such."""
    match value:
        case ast.Name(id=name):
            return name in bare
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return name in bound and attribute in _BARE_ATTRIBUTES
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return name in bound and method in _BARE_METHODS
        case ast.Call():
            return _called(value) in _BARE_FUNCTIONS and _is_torchs(value.func)
        case ast.Subscript(value=owner):
            return _is_bare(owner, bound, bare)
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


def _hands_on(value: ast.expr, bound: Collection[str]) -> bool:
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
    called = _called(value)
    # Numbers that are read as those of another type may be any.
    return called in _MOVES and not (
        called == "view"
        and any(isinstance(at, ast.Attribute) for one in given for at in ast.walk(one))
    )


def _makes_no_nan(value: ast.expr, bound: Collection[str]) -> bool:
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
        case _:
            return False


def _keeps_finite(value: ast.expr, bound: Collection[str]) -> bool:
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
                return _called(value), (owner, *given)
            return (_called(value), given) if _is_torchs(owner) else ("", ())
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
    """Whether a function is called by a path that begins with ``torch``."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id == "torch"


def _called(call: ast.Call) -> str:
    """``empty`` of ``torch.empty`` and of ``torch.ops.aten.empty.memory_format``."""
    match call.func:
        case ast.Attribute(value=ast.Attribute(value=ast.Attribute(), attr=name)):
            return name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


_EMPTY = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new"),
    *("new_empty", "new_empty_strided"),
}
_CASTS = {"bfloat16", "double", "float", "half", "to", "type", "type_as", "_to_copy"}

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

_WITHOUT_NAN = {"abs", "exp", "neg", "relu", "sigmoid", "tanh"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}
