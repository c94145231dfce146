"""What somebody still has to fill in: the ``...`` that is an argument of an entry."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fxls.ide.syntax.module_classes import ModuleClass, modules
from fxls.ide.syntax.signatures import Parameter

__all__ = ["Blank", "blanks"]


@dataclass(frozen=True, slots=True)
class Blank:
    node: ast.Constant
    message: str


def blanks(expression: ast.expr, text: str) -> Iterator[Blank]:
    """The blanks of an entry of a file with this text, in their order."""
    calls = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    found = [(call, at, node) for call in calls for at, node in _of(call)]
    if not found:
        return
    classes = {module.name: module for module in modules(text)}
    for call, at, node in sorted(found, key=lambda one: one[2].col_offset):
        yield Blank(node, f"{_need(call, at, classes)}: write it in place of `...`")


def _of(call: ast.Call) -> Iterator[tuple[int | str, ast.Constant]]:
    arguments: list[tuple[int | str, ast.expr]] = [
        *enumerate(call.args),
        *((keyword.arg or "", keyword.value) for keyword in call.keywords),
    ]
    for at, node in arguments:
        if isinstance(node, ast.Constant) and node.value is ...:
            yield at, node


def _need(call: ast.Call, at: int | str, classes: dict[str, ModuleClass]) -> str:
    """Who needs what, as far as the file says it."""
    is_model = isinstance(call.func, ast.Call)
    callee = ast.unparse(
        call.func.func if isinstance(call.func, ast.Call) else call.func
    )
    known = classes.get(callee)
    taken: Sequence[Parameter] = ()
    if known is not None:
        taken = known.inputs if is_model else known.parameters
    who = f"the forward of {callee}" if is_model else callee
    for number, one in enumerate(taken):
        if at in (number, one.name):
            kind = f" ({one.annotation})" if one.annotation else ""
            return f"{who} needs {one.name}{kind}"
    return f"{who} needs {at}" if isinstance(at, str) else f"{who} needs an argument"
