"""Whether what a listing was made of is still written in its sources."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import lru_cache

from fxls.ide.listing.document import Document
from fxls.ide.source.runs import Definitions
from fxls.ide.syntax.module_classes import parsed

__all__ = ["is_gone"]


def is_gone(document: Document, text_of: Callable[[str], str | None]) -> bool:
    """Whether the class or function that was traced was renamed or deleted.

    A file that cannot be read, or is half written, tells nothing.
    """
    listing = document.listing
    if listing.entry is not None and listing.entry_path is not None:
        text = text_of(listing.entry_path)
        bound = None if text is None else _bound(text)
        if bound is not None and not _used(listing.entry) <= bound:
            return True
    outermost = {
        (listing.sources[row.source].path, row.function)
        for row in listing.frames
        if row.caller is None
    }
    return bool(outermost) and not any(
        _has(text_of(path), function) for path, function in outermost
    )


def _has(text: str | None, function: str) -> bool:
    known = None if text is None else _definitions(text)
    return known is None or known.has(function)


@lru_cache(maxsize=16)
def _definitions(text: str) -> Definitions | None:
    tree = parsed(text)
    return None if tree is None else Definitions(tree)


@lru_cache(maxsize=16)
def _bound(text: str) -> frozenset[str] | None:
    """Every name that a file gives to something, wherever it does; None for a file of
    which nobody knows that.
    """
    tree = parsed(text)
    if tree is None:
        return None
    found: set[str] = {*dir(builtins), "__file__", "__name__"}
    for node in ast.walk(tree):
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                found.add(name)
            case ast.Name(id="globals" | "vars" | "locals" | "exec" | "setattr"):
                return None
            case ast.alias(name="*"):
                return None
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case _:
                pass
    return frozenset(found)


@lru_cache(maxsize=64)
def _used(expression: str) -> frozenset[str]:
    """The names that an entry takes from its file."""
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return frozenset(node.id for node in names) - own
