"""Whether what a listing was made of is still written in its sources."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import lru_cache

from fxls.ide.listing.document import Document
from fxls.ide.source.runs import definitions_of
from fxls.ide.syntax.pieces import defined_names, of_each

__all__ = ["is_gone"]


def is_gone(document: Document, text_of: Callable[[str], str | None]) -> bool:
    """Whether the class or function that was traced was renamed or deleted.

    A file that cannot be read, or is half written, tells nothing; nor does what never
    was a file, as a cell.
    """
    listing = document.listing
    if listing.entry is not None and listing.entry_path is not None:
        text = text_of(listing.entry_path)
        if text is not None and not _is_bound(text, _used(listing.entry)):
            return True
    outermost = {
        (listing.sources[row.source], row.function)
        for row in listing.frames
        if row.caller is None
    }
    return bool(outermost) and not any(
        not source.digest or _has(text_of(source.path), function)
        for source, function in outermost
    )


def _has(text: str | None, function: str) -> bool:
    known = None if text is None else definitions_of(text)
    return known is None or known.has(function)


def _is_bound(text: str, names: frozenset[str]) -> bool:
    """Whether a file may give each of the names to something."""
    top = defined_names(text)
    # Nearly always. To look everywhere takes as long as parsing.
    if top is None or names <= top | _EVERYWHERE:
        return True
    bound = _bound(text)
    return bound is None or names <= bound


_EVERYWHERE = frozenset({*dir(builtins), "__file__", "__name__"})


@lru_cache(maxsize=16)
def _bound(text: str) -> frozenset[str] | None:
    """Every name that a file gives to something, wherever it does; None for a file of
    which nobody knows that.
    """
    found = of_each(text, _bound_in)
    if found is None or any("*" in names for _, names in found):
        return None
    given = (names for _, names in found)
    return _EVERYWHERE.union(*given)


def _bound_in(tree: ast.Module) -> frozenset[str]:
    """The names that a piece of a file gives; a star for those that it does not say."""
    found: set[str] = set()
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
                found.add("*")
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
