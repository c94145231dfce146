"""From name to name in a listing, and from a node to the source it came from."""

from __future__ import annotations

from fxls.ide.listing.definitions import (
    SourceText,
    class_of_graph,
    class_of_scope,
    method_of_scope,
    scope_of,
)
from fxls.ide.listing.document import Destination, Document, Jump
from fxls.listing import Mark, Role
from fxls.text import Point, Span

__all__ = [
    "declaration",
    "definition",
    "highlights",
    "implementation",
    "references",
    "type_definition",
    "uses",
]


def definition(document: Document, point: Point) -> Jump | None:
    """Where a cursor in a listing leads.

    A use leads to the name that binds the node. That name, and anything else in the
    node's statement, leads to the exact expression of the source: to one place, so
    that an editor goes there without asking; `implementation` has the others.
    """
    touched = document.touched(point)
    if touched is not None and touched.role in (Role.READS, Role.FREES):
        return Jump(touched.span, (document.destination(touched.node),))
    found = implementation(document, point)
    return Jump(found.span, found.destinations[:1]) if found else None


def implementation(document: Document, point: Point) -> Jump | None:
    """The source of the node under a cursor, also from a use: every frame of its
    origins, innermost first.
    """
    touched = document.touched(point)
    origins = document.listing.origins(touched.node) if touched else ()
    if touched is None or not origins:
        return None
    places = dict.fromkeys(place for origin in origins for place in origin.places)
    there = tuple(Destination(p.path, p.span, p.span) for p in places)
    return Jump(touched.span, there)


def declaration(document: Document, point: Point, source: SourceText) -> Jump | None:
    """What the node under a cursor calls: a function, or the forward of a submodule.

    From a use, and where the target is compiled or not known: as `definition`.
    """
    touched = document.touched(point)
    if touched is None or touched.role in (Role.READS, Role.FREES):
        return definition(document, point)
    facts = document.listing.nodes[touched.node]
    there: Destination | None = None
    if facts.opcode == "call_module":
        scope = scope_of(document, touched.node)
        there = scope and method_of_scope(document, scope, source)
    elif facts.call is not None:
        target = document.listing.targets[facts.call]
        if target.file is not None:
            line = Span.of(target.line, 0, target.line, 0)
            there = Destination(target.file, line, line)
    return Jump(touched.span, (there,)) if there else definition(document, point)


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


def references(document: Document, point: Point) -> tuple[Mark, ...]:
    """Where the node under a cursor is bound and read, in the order of the text.

    Where its name is freed is none: nobody wrote that to use it.
    """
    return tuple(m for m in highlights(document, point) if m.role is not Role.FREES)


def uses(document: Document, point: Point) -> tuple[Mark, ...]:
    """`references` without the name that binds."""
    return tuple(m for m in highlights(document, point) if m.role is Role.READS)


def highlights(document: Document, point: Point) -> tuple[Mark, ...]:
    """Every mark of the node whose name is under a cursor."""
    mark = document.listing.mark_at(point)
    return document.marks_of(mark.node) if mark else ()
