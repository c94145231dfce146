"""What a file itself chooses where it builds one of its classes."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from fxls.ide.syntax.signatures import ClassSyntax

__all__ = ["written_choices"]


def written_choices(
    tree: ast.Module, name: str, syntax: ClassSyntax
) -> Mapping[str, str]:
    """For the parameters of a class: the flags, names and None that calls give them.

    The first call of the file counts. Numbers are left out: a size is right only
    beside the other sizes of its call.
    """
    found: dict[str, str] = {}
    by_position = [one.name for one in syntax.fields() if not one.by_keyword]
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called == name:
                stars = [n for n, a in enumerate(node.args) if _is_star(a)]
                plain = node.args[: stars[0]] if stars else node.args
                given = [*zip(by_position, plain, strict=False)]
                given += [(word.arg, word.value) for word in node.keywords if word.arg]
                for parameter, value in given:
                    if _is_choice(value):
                        found.setdefault(parameter, ast.unparse(value))
            case _:
                pass
    return found


def _is_star(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Starred)


def _is_choice(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=bool() | str() | None):
            return True
        case _:
            return False
