"""Where a cursor leads: from a use to its node, and from a node to its source."""

from __future__ import annotations

from fxls.ide.entries.entries import comment_at
from fxls.ide.implementation import implementation, source_implementation
from fxls.ide.listing.document import Document, Jump
from fxls.ide.source.source_file import SourceFile
from fxls.listing import Role
from fxls.text import Point

__all__ = ["definition", "source_definition"]


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


def source_definition(source: SourceFile, point: Point) -> Jump | None:
    """`source_implementation`, but only where no Python server has its own answer.

    An editor shows the definitions of all its servers together, so on a name ours
    would turn a jump to the name's definition into a list to choose from. Operators,
    brackets and entry comments have no other definition.
    """
    if comment_at(source.lines.text, source.path, point) is None:
        line = source.lines.line(point.line)
        around = line[max(point.column - 1, 0) : point.column + 1]
        if any(character.isalnum() or character in "_\"'" for character in around):
            return None
    return source_implementation(source, point)
