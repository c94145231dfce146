"""The folds of a listing as LSP writes them: of a large one there are thousands."""

from __future__ import annotations

from collections.abc import Iterable

from fxls.ide.folding_ranges import Fold
from fxls.lsp.item import Item

__all__ = ["FoldItem", "fold_items"]


class FoldItem(Item, frozen=True):
    """Lines that can be hidden behind the first of them."""

    start_line: int
    end_line: int
    kind: str
    collapsed_text: str


def fold_items(found: Iterable[Fold]) -> list[FoldItem]:
    """Folds with the kinds that LSP has for them."""
    return [
        FoldItem(
            *(fold.first, fold.last),
            "imports" if fold.kind == "imports" else "region",
            fold.text,
        )
        for fold in found
    ]
