"""What the code of a class does with a parameter, by its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from fxls.ide.syntax.signatures import ClassSyntax

__all__ = [
    "Function",
    "Use",
    "assigned",
    "calls",
    "functions",
    "last_name",
    "rank",
    "uses",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Use:
    """A call of something of ``self`` with a parameter, or with what is made of it."""

    attribute: str
    at: int | str
    """Which argument of the call it is."""
    parts: int | None = 1
    """How many inputs are put beside each other for it; None where nobody knows."""


def uses(function: Function, name: str) -> Iterator[Use]:
    """What of ``self`` is called with a parameter.

    First what is called with it alone, then what is called with something made of it.
    """
    yield from _uses(function, name)
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=whole)], value=value) if whole != name:
                parts = _parts(value, name)
                if parts is not None and parts > 1:
                    for use in _uses(function, whole):
                        yield Use(use.attribute, use.at, parts)
            case _:
                pass


def _uses(function: Function, name: str) -> Iterator[Use]:
    found: list[tuple[bool, Use]] = []
    loops = {
        loop.target.id: attribute
        for loop in ast.walk(function)
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
        if (attribute := _of_self(loop.iter)) is not None
    }
    for call in calls(function):
        attribute = _of_self(call.func)
        if isinstance(call.func, ast.Name):
            attribute = loops.get(call.func.id)
        if attribute is None:
            continue
        arguments: list[tuple[int | str, ast.expr]] = [
            *enumerate(call.args),
            *((keyword.arg or "", keyword.value) for keyword in call.keywords),
        ]
        for at, value in arguments:
            names = (one for one in ast.walk(value) if isinstance(one, ast.Name))
            if any(one.id == name for one in names):
                use = Use(attribute, at, _parts(value, name))
                found.append((not isinstance(value, ast.Name), use))
    for _, use in sorted(found, key=lambda use: use[0]):
        yield use


def _parts(value: ast.expr, name: str) -> int | None:
    """How many inputs a value is put together from, one of them a parameter."""
    for call in calls(value):
        if last_name(call.func) in {"cat", "concat", "concatenate"} and call.args:
            whole = call.args[0]
            elements = whole.elts if isinstance(whole, ast.List | ast.Tuple) else []
            names = [one.id for one in elements if isinstance(one, ast.Name)]
            if name in names:
                return len(names) if len(names) == len(elements) else None
    return 1


def assigned(syntax: ClassSyntax, attribute: str) -> ast.expr | None:
    """What a constructor keeps under a name."""
    init = syntax.method("__init__")
    for node in ast.walk(init) if init else ():
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == attribute:
                    return node.value
    return None


def rank(function: Function, name: str) -> int | None:
    """How many dimensions a parameter has, as far as its shape is looked at."""
    most = 0
    # What is rebound may have other dimensions then.
    stays = not any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                whole = ast.unparse(value) in (f"{name}.size()", f"{name}.shape")
                if whole and not any(isinstance(one, ast.Starred) for one in parts):
                    return len(parts)
            case ast.Call(func=of, args=[ast.Constant(value=int() as number)]):
                if ast.unparse(of) == f"{name}.size":
                    most = max(most, number + 1)
            case ast.Subscript(value=of, slice=ast.Constant(value=int() as number)):
                if ast.unparse(of) == f"{name}.shape":
                    most = max(most, number + 1)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="transpose")):
                axes = [one.value for one in node.args if isinstance(one, ast.Constant)]
                if of == name and stays:
                    most = max([most, *(a + 1 for a in axes if isinstance(a, int))])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="permute")):
                if of == name and stays and len(node.args) > 2:
                    return len(node.args)
            case _:
                pass
    return most if most > 2 else None


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a piece of code, in the order of its text."""
    left = [node]
    while left:
        current = left.pop()
        if isinstance(current, ast.Call):
            yield current
        left += [*ast.iter_child_nodes(current)][::-1]


def functions(tree: ast.Module) -> dict[str, Function]:
    """The functions at the top level of a file, by their names."""
    return {one.name: one for one in tree.body if isinstance(one, Function)}


def last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _of_self(expression: ast.expr) -> str | None:
    """``a`` of ``self.a``, ``self.a.b`` and ``self.a[0]``."""
    found: str | None = None
    while isinstance(expression, ast.Attribute | ast.Subscript):
        found = expression.attr if isinstance(expression, ast.Attribute) else found
        expression = expression.value
    is_own = isinstance(expression, ast.Name) and expression.id == "self"
    return found if is_own else None
