"""What the statements of a listing bind, read from their syntax."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fxls.runtime.checks.expressions import (
    called,
    hands_on,
    is_bare,
    is_view,
    keeps_finite,
    makes_no_nan,
)

__all__ = [
    "Statement",
    "Taken",
    "bound_by",
    "changes_in_place",
    "statement_of",
    "taken_by",
]


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
    is_view: bool = False
    """Whether its value is a tensor that it reads, in another shape or in parts."""
    makes_no_nan: bool = False
    """Whether real numbers that are not NaN give none."""
    keeps_finite: bool = False
    """Whether its backward makes finite gradients of finite ones, and NaN of NaN alone,
    where all tensors that it reads are of the shape of its value."""
    expression: ast.expr | None = None
    """What it computes of what it reads, where that is a view, or bare."""


class Taken(NamedTuple):
    """How a function takes what it is given, where its nodes are not its parameters."""

    parameters: frozenset[str]
    """Those that are taken apart, or get the name of their node by a statement."""
    iterators: frozenset[str]
    """The names of what walks over such a parameter."""
    statements: frozenset[ast.stmt]
    """What takes them."""


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, unless it frees them."""
    target = _target_of(statement)
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (at.id for at in target.elts if isinstance(at, ast.Name))


def taken_by(statements: Sequence[ast.stmt], parameters: Collection[str]) -> Taken:
    """How statements take the parameters of their function.

    - Where a tree is an input, the first statement binds all its leaves.
    - What AOTAutograd hands to a function is in one list, which an iterator walks over.
    - ``l_x_ = L_x_`` is a placeholder whose name is not its target, as Dynamo makes them.
    """
    found: set[str] = set()
    iterators: set[str] = set()
    takes: list[ast.stmt] = []
    is_first = True
    for statement in statements:
        match _target_of(statement), getattr(statement, "value", None):
            case ast.Tuple() | ast.List(), ast.expr() as value if is_first:
                names = {at.id for at in ast.walk(value) if isinstance(at, ast.Name)}
                found.update(names.intersection(parameters))
            case ast.Name(id=name), ast.Call(
                func=ast.Name(id="iter"), args=[ast.Name(id=given)]
            ) if given in parameters:
                found.add(given)
                iterators.add(name)
            case ast.Name(), ast.Call(
                func=ast.Name(id="next"), args=[ast.Name(id=name)]
            ) if name in iterators:
                pass
            case ast.Name(), ast.Name(id=given) if given in parameters:
                found.add(given)
            case target, _:
                is_first = is_first and target is None
                continue
        takes.append(statement)
        is_first = False
    return Taken(frozenset(found), frozenset(iterators), frozenset(takes))


def _target_of(statement: ast.stmt) -> ast.expr | None:
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
    taken: Taken,
) -> Statement:
    """What a statement binds.

    - `before` is what belongs to the same node and stands in front of it.
    - `bound` are the names of all nodes, `bare` those known to be of no tensor.
    - `taken` is what the function takes otherwise than by the names of its parameters.
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
            empty = empty or called(at) in _EMPTY
    module = _path(value.func) if isinstance(value, ast.Call) else None
    bare_value = not before and is_bare(value, bound, bare)
    view = not before and is_view(value, bound)
    return Statement(
        *(statement.lineno, tuple(reads), casts, infinite, empty, module),
        attribute=_path(value),
        is_given=statement in taken.statements,
        is_bare=bare_value,
        hands_on=not before and hands_on(value, bound),
        is_view=view,
        makes_no_nan=not before and makes_no_nan(value, bound),
        keeps_finite=not before and keeps_finite(value, bound),
        expression=value if bare_value or view else None,
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


_EMPTY = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new"),
    *("new_empty", "new_empty_strided"),
}
_CASTS = {"bfloat16", "double", "float", "half", "to", "type", "type_as", "_to_copy"}
