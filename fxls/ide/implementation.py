"""Where the rest of it is: every frame behind a node, every node of an expression."""

from __future__ import annotations

from itertools import islice

from fxls.ide.listing.document import Destination, Document, Jump
from fxls.ide.source.source_file import SourceFile
from fxls.ide.source.under_cursor import calls_at, listings_at, made_at
from fxls.text import Point

__all__ = ["implementation", "source_implementation"]

_PLACES = 1_000
"""More places than this no editor shows at once: an expression of a loop may have more.
"""


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


def source_implementation(source: SourceFile, point: Point) -> Jump | None:
    """Where the nodes that the expression under a cursor made are bound.

    From an entry comment and the name of a class: the ``def`` of their listings, else
    the first node of each call of the class.
    """
    named = listings_at(source, point)
    if named is not None:
        span, documents = named
        return Jump(span, tuple(document.start for document in documents))
    span, called = calls_at(source, point)
    if called:
        places = (there for part in called for _, there in part.calls)
        return Jump(span, tuple(islice(places, _PLACES)))
    found = made_at(source, point)
    if not found:
        return None
    nodes = ((made.document, node) for made in found for node in made.nodes)
    there = (document.destination(node) for document, node in islice(nodes, _PLACES))
    return Jump(found[0].span, tuple(there))
