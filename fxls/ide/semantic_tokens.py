"""What the names of a listing are, for an editor that colours them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

from fxls.ide.listing.document import Document
from fxls.listing import Mark, Role

__all__ = ["Colour", "Token", "tokens"]


class Colour(enum.IntEnum):
    """How a name is shown: by the opcode of its node."""

    INPUT = 0
    ATTRIBUTE = 1
    MODULE = 2
    METHOD = 3
    FUNCTION = 4


class Token(NamedTuple):
    """A name; `binds` where it is defined, `frees` where it is given up."""

    mark: Mark
    colour: Colour

    @property
    def binds(self) -> bool:
        return self.mark.role is Role.BINDS

    @property
    def frees(self) -> bool:
        return self.mark.role is Role.FREES


def tokens(document: Document, first: int, last: int) -> Iterator[Token]:
    """The names on the lines `first` to `last`, in the order of the text."""
    nodes = document.listing.nodes
    for mark in document.marks_in(first, last):
        colour = _COLOURS.get(nodes[mark.node].opcode)
        if colour is not None:
            yield Token(mark, colour)


_COLOURS = {
    "placeholder": Colour.INPUT,
    "get_attr": Colour.ATTRIBUTE,
    "call_module": Colour.MODULE,
    "call_method": Colour.METHOD,
    "call_function": Colour.FUNCTION,
}
