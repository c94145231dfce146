"""Every place of a listing where a node is named."""

from __future__ import annotations

from fxls.ide.listing.document import Document
from fxls.listing import Mark
from fxls.text import Point

__all__ = ["highlights"]


def highlights(document: Document, point: Point) -> tuple[Mark, ...]:
    """Every mark of the node whose name is under a cursor."""
    mark = document.listing.mark_at(point)
    return document.marks_of(mark.node) if mark else ()
