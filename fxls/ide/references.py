"""Where a node of a listing is bound and read."""

from __future__ import annotations

from fxls.ide.document_highlights import highlights
from fxls.ide.listing.document import Document
from fxls.listing import Mark, Role
from fxls.text import Point

__all__ = ["references", "uses"]


def references(document: Document, point: Point) -> tuple[Mark, ...]:
    """Where the node under a cursor is bound and read, in the order of the text.

    Where its name is freed is none: nobody wrote that to use it.
    """
    return tuple(m for m in highlights(document, point) if m.role is not Role.FREES)


def uses(document: Document, point: Point) -> tuple[Mark, ...]:
    """`references` without the name that binds."""
    return tuple(m for m in highlights(document, point) if m.role is Role.READS)
