"""What the code of a class does with a parameter, by its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxls.ide.signatures import ClassSyntax

__all__ = ["Function", "assigned", "calls", "last_name", "rank", "uses"]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def uses(function: Function, name: str) -> Iterator[tuple[str, int | str]]:
    """What of ``self`` is called with a parameter, and as which argument of it.

    First what is called with it alone, then what is called with something made of it.
    """
    found: list[tuple[bool, str, int | str]] = []
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
                found.append((not isinstance(value, ast.Name), attribute, at))
    for _, attribute, at in sorted(found, key=lambda use: use[0]):
        yield attribute, at


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
