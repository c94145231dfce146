"""The class that a node of a listing belongs to."""

from __future__ import annotations

from fxls.ide.listing.definitions import (
    SourceText,
    class_of_graph,
    class_of_scope,
    scope_of,
)
from fxls.ide.listing.document import Document, Jump
from fxls.text import Point

__all__ = ["type_definition"]


def type_definition(
    document: Document, point: Point, source: SourceText
) -> Jump | None:
    """The class of the submodule that the node under a cursor calls, else of the one
    whose forward made it; on the ``def``, the class that was traced.
    """
    touched = document.touched(point)
    if touched is None:
        span = document.on_definition(point)
        there = class_of_graph(document, source)
    else:
        span = touched.span
        scope = scope_of(document, touched.node)
        if scope is None or not scope.path:
            there = class_of_graph(document, source)
        else:
            there = class_of_scope(document, scope, source)
    return Jump(span, (there,)) if span and there else None
