"""What a guard asks of sizes, read from torch's text of it.

torch writes conditions as Python or as sympy does, with paths in place of names, as
``Eq(L['x'].size()[0], 5)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Bounds", "Condition", "Size", "condition"]

Size = tuple[str, int | None]
"""A parameter and its dimension; the parameter itself, where that is a number."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which a size is, both included; empty without a bound."""

    low: str = ""
    high: str = ""

    def with_all(self, others: Bounds | None) -> Bounds:
        """These bounds and others: the narrower ones."""
        if others is None:
            return self
        low, high = (self.low, others.low), (self.high, others.high)
        return Bounds(_narrower(max, *low), _narrower(min, *high))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as a program would write it, and what it says of sizes."""

    text: str
    sizes: frozenset[Size]
    """Those that are in it."""
    symbols: frozenset[str]
    """torch's names in it of what only a run knows, as ``u0``."""
    bounds: Mapping[Size, Bounds]
    """Where it is nothing else than bounds."""
    equal: tuple[Size, str] | None = None
    """A size, and what it is equal to, which is no number."""


@lru_cache(2_000)
def condition(text: str) -> Condition | None:
    """What torch's text of a condition says; None for one that is no Python."""
    try:
        tree = ast.parse(text, mode="eval").body
        made = _Words().visit(tree)
        said = ast.unparse(ast.fix_missing_locations(made))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = [*ast.walk(made)]
    # What is read of a name, or called, is no number itself.
    owners = {one.value for one in nodes if isinstance(one, ast.Attribute)}
    owners |= {one.func for one in nodes if isinstance(one, ast.Call)}
    known = {size for one in nodes if one not in owners and (size := _size(one))}
    names = {name for name, dimension in known if dimension is None}
    symbols = frozenset(name for name in names if _SYMBOL.fullmatch(name))
    return Condition(said, frozenset(known), symbols, _bounds(made), _equal(made))


class _Words(ast.NodeTransformer):
    """Writes names for torch's paths, and operators for what sympy writes as calls."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        made = self.generic_visit(node)
        match made:
            case ast.Subscript(
                value=ast.Name(id="L" | "G"), slice=ast.Constant(value=str(name))
            ) if name.isidentifier():
                return ast.Name(name, ast.Load())
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Attribute(attr="size" | "stride"), args=[]
                ) as call,
                slice=ast.Constant(value=int()) as dimension,
            ):
                return ast.Call(call.func, [dimension], [])
            case _:
                return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = self.generic_visit(node)
        match made:
            case ast.Call(func=ast.Name(id=name), args=[left, right]):
                if name in _COMPARED:
                    return ast.Compare(left, [_COMPARED[name]()], [right])
                if name in _COMPUTED:
                    return ast.BinOp(left, _COMPUTED[name](), right)
            case _:
                pass
        return made


_COMPARED: dict[str, Callable[[], ast.cmpop]] = {
    "Eq": ast.Eq,
    "Ne": ast.NotEq,
    "Lt": ast.Lt,
    "Le": ast.LtE,
    "Gt": ast.Gt,
    "Ge": ast.GtE,
}
_COMPUTED: dict[str, Callable[[], ast.operator]] = {
    "Mod": ast.Mod,
    "PythonMod": ast.Mod,
    "FloorDiv": ast.FloorDiv,
}
"""The names that torch has for operators of Python, where sympy has none."""


def _size(node: ast.AST) -> Size | None:
    """The size that an expression is, and nothing else."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="size"),
            args=[ast.Constant(value=int(dimension))],
        ):
            return name, dimension
        case ast.Name(id=name):
            return name, None
        case _:
            return None


def _bounds(tree: ast.AST) -> dict[Size, Bounds]:
    """The bounds of sizes; none where a condition says anything else besides."""
    found: dict[Size, Bounds] = {}
    for part in _parts(tree):
        for left, by, right in _compared(part):
            size, number, word = _size(left), _number(right), by
            if size is None or number is None:
                size, number, word = _size(right), _number(left), _TURNED.get(by)
            bound = _BOUNDS.get(word) if word is not None else None
            if size is None or number is None or bound is None:
                return {}
            found[size] = found.get(size, Bounds()).with_all(bound(number))
    return found


def _parts(tree: ast.AST) -> list[ast.AST]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [*tree.values]
    return [tree]


def _compared(
    tree: ast.AST,
) -> Iterator[tuple[ast.expr, type[ast.cmpop], ast.expr]]:
    """The comparisons of a chain, each with both sides."""
    if not isinstance(tree, ast.Compare):
        yield ast.Constant(None), ast.Is, ast.Constant(None)
        return
    sides = [tree.left, *tree.comparators]
    for left, by, right in zip(sides, tree.ops, sides[1:], strict=False):
        yield left, type(by), right


def _equal(tree: ast.AST) -> tuple[Size, str] | None:
    match tree:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            size = _size(left)
            if size is not None and _number(right) is None:
                return size, ast.unparse(right)
        case _:
            pass
    return None


def _number(node: ast.AST) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case _:
            return None


def _narrower(which: Callable[[int, int], int], one: str, other: str) -> str:
    return str(which(int(one), int(other))) if one and other else one or other


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}
_BOUNDS: dict[type[ast.cmpop], Callable[[int], Bounds]] = {
    ast.Lt: lambda number: Bounds(high=str(number - 1)),
    ast.LtE: lambda number: Bounds(high=str(number)),
    ast.Gt: lambda number: Bounds(low=str(number + 1)),
    ast.GtE: lambda number: Bounds(low=str(number)),
    ast.Eq: lambda number: Bounds(str(number), str(number)),
}
_SYMBOL = re.compile(r"u\d+")
