"""What is wrong in open listings, which is looked for once."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary

from fxls.ide.listing.defects import Defect, defects
from fxls.ide.listing.document import Document
from fxls.serving.made_first import MANY_NODES, made_first

__all__ = ["KnownDefects"]


class KnownDefects:
    """The defects of listings; an editor asks anew with each key that is pressed."""

    def __init__(self) -> None:
        self._known = WeakKeyDictionary[Document, tuple[Defect, ...]]()

    def of(self, document: Document) -> tuple[Defect, ...]:
        """Those of one listing; of a long one they are found in a thread."""
        known = self._known.get(document)
        if known is not None:
            return known
        find = partial(self._find, document)
        is_long = len(document.listing.nodes) >= MANY_NODES
        return made_first(("defects", document), find) if is_long else find()

    def _find(self, document: Document) -> tuple[Defect, ...]:
        found = self._known[document] = defects(document)
        return found
