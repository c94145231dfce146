"""The lines of a listing that can be hidden: the head, and each submodule."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group

__all__ = ["Fold", "folds"]


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines that can be hidden behind the first of them."""

    first: int
    last: int
    text: str
    """What stands for them while they are hidden."""
    kind: str = "module"


def folds(document: Document) -> tuple[Fold, ...]:
    """The submodules that have more than a line, and the head of the text."""
    listing = document.listing
    found: list[Fold] = []
    last = listing.definition - 1
    while last > 0 and not document.lines.line(last).strip():
        last -= 1
    if last > 0:
        found.append(Fold(0, last, "imports", "imports"))
    for group in document.groups.within():
        first, last = (listing.nodes[n].line for n in (group.first, group.last))
        if last > first:
            found.append(Fold(first, last, f"{_title(document, group)} …"))
    return tuple(found)


def _title(document: Document, group: Group) -> str:
    assert group.scope is not None
    scope = document.listing.scopes[group.scope]
    return f"{scope.path} {scope.type.rpartition('.')[2]}"
