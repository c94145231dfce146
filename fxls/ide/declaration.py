"""What the node under a cursor calls."""

from __future__ import annotations

from fxls.ide.definition import definition
from fxls.ide.listing.definitions import SourceText, method_of_scope, scope_of
from fxls.ide.listing.document import Destination, Document, Jump
from fxls.listing import Role
from fxls.text import Point, Span

__all__ = ["declaration"]


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
