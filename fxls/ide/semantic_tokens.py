"""What the names of a listing are, for an editor that colours them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from fxls.ide.listing.document import Document
from fxls.listing import Mark, Role

__all__ = ["Colour", "Token", "tokens"]


class Colour(enum.Enum):
    """How a name is shown: by the opcode of its node."""

    INPUT = "placeholder"
    ATTRIBUTE = "get_attr"
    MODULE = "call_module"
    METHOD = "call_method"
    FUNCTION = "call_function"


@dataclass(frozen=True, slots=True)
class Token:
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
    for mark in document.marks_in(first, last):
        colour = _COLOURS.get(document.listing.nodes[mark.node].opcode)
        if colour is not None:
            yield Token(mark, colour)


_COLOURS = {colour.value: colour for colour in Colour}
