"""Loops of a program: those over epochs, and those that never end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

__all__ = ["Loop", "counts_epochs", "is_endless", "last_name"]

Loop = ast.For | ast.AsyncFor | ast.While


def counts_epochs(loop: Loop) -> bool:
    """Whether a loop counts epochs, and does more than that."""
    match loop:
        case ast.While(test=ast.Compare() as counted):
            pass
        case ast.For(target=ast.Name() as target, iter=counted):
            if _EPOCHS.fullmatch(target.id):
                counted = target
        case _:
            return False
    named = {
        last_name(node) for node in ast.walk(counted) if isinstance(node, ast.expr)
    }
    return any(map(_EPOCHS.fullmatch, named)) and any(
        isinstance(node, ast.Call) for node in _nodes(loop.body)
    )


_EPOCHS = re.compile(r"_?((n|i|num|max|total)_?)?epochs?(_?\w+)?", re.IGNORECASE)


def is_endless(loop: ast.While) -> bool:
    """Whether nothing that is written there ends a loop."""
    if not (isinstance(loop.test, ast.Constant) and loop.test.value):
        return False
    ends = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)
    return not any(
        isinstance(node, ends)
        or (isinstance(node, ast.Call) and last_name(node.func) in ("exit", "_exit"))
        for node in _nodes(loop.body)
    )


def _nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def last_name(value: ast.expr) -> str:
    """The last part of a dotted name, also of what is called; empty for others."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return last_name(called)
        case _:
            return ""
