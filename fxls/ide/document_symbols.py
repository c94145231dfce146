"""The outline of a listing: its nodes, in the submodules that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.listing.value_text import short_form
from fxls.listing import Facts, Tensor

__all__ = ["FORWARD", "MODULE", "Symbol", "outline"]

FORWARD = "forward"
MODULE = "module"


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """A part of a listing that has a name.

    Its places are plain numbers: spans for a hundred thousand symbols would take a
    fourth of the time of an outline.
    """

    name: str
    detail: str
    kind: str
    """`FORWARD`, `MODULE`, or the opcode of a node."""
    line: int
    column: int
    end_line: int
    end_column: int
    focus: int
    """The column at which that begins which a cursor lands on; it is on the first line."""
    focus_end: int
    children: Iterable[Symbol] = ()
    """To be gone through once: of a large listing they are never there all at a time."""


def outline(document: Document) -> Symbol:
    """The forward with all that is in it.

    Of a submodule whose nodes are not all together there are several symbols.
    """
    start, end = document.start.whole, document.end
    return Symbol(
        f"{document.listing.identity.qualname}.forward",
        "",
        FORWARD,
        start.start.line,
        start.start.column,
        end.line,
        end.column,
        start.start.column,
        start.end.column,
        _Outline(document).children(document.groups),
    )


class _Outline:
    """Makes the symbols of one listing.

    What is said beside a name is made once for all nodes that are alike: a listing of a
    hundred thousand nodes has few kinds of them.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = document.listing.text.split("\n")
        self._details: dict[tuple[object, ...], str] = {}

    def children(self, group: Group) -> Iterator[Symbol]:
        nodes, place = self._document.listing.nodes, self._place
        for member in group.members:
            if isinstance(member, int):
                facts = nodes[member]
                line, column, end, focus, focus_end = place(member)
                yield Symbol(
                    facts.name,
                    self._detail(facts),
                    facts.opcode,
                    line,
                    column,
                    line,
                    end,
                    focus,
                    focus_end,
                )
            else:
                yield self._module(member)

    def _module(self, group: Group) -> Symbol:
        assert group.scope is not None
        scope = self._document.listing.scopes[group.scope]
        line, column, end, focus, focus_end = self._place(group.first)
        last_line, _, last_end, _, _ = self._place(group.last)
        return Symbol(
            scope.path,
            scope.type.rpartition(".")[2],
            MODULE,
            line,
            column,
            *max((line, end), (last_line, last_end)),
            focus,
            focus_end,
            self.children(group),
        )

    def _place(self, node: int) -> tuple[int, int, int, int, int]:
        """The line of a node, and the columns of its statement and of its name there."""
        mark = self._document.binding(node)
        line = self._document.listing.nodes[node].line if mark is None else mark.line
        text = self._lines[line] if line < len(self._lines) else ""
        column = len(text) - len(text.lstrip())
        end = max(column, len(text.rstrip()))
        if mark is None:
            return line, column, end, column, end
        return line, column, end, mark.column, mark.column + mark.length

    def _detail(self, facts: Facts) -> str:
        name, value = facts.name, facts.value
        # The name without the number that makes it unique: `relu` for `relu_2`.
        stem = name.rstrip("0123456789")
        stem = stem[:-1] if stem != name and stem.endswith("_") else name
        if isinstance(value, Tensor):
            shape = value.dtype, value.shape
        elif value is None:
            shape = None
        else:
            return self._made_detail(facts, stem)
        alike = stem, facts.opcode, facts.target, facts.call, shape
        detail = self._details.get(alike)
        if detail is None:
            detail = self._details[alike] = self._made_detail(facts, stem)
        return detail

    def _made_detail(self, facts: Facts, stem: str) -> str:
        kind = self._kind(facts, stem)
        shape = "" if facts.value is None else short_form(facts.value)
        return f"{kind} {shape}" if kind and shape else kind or shape

    def _kind(self, facts: Facts, stem: str) -> str:
        """What a node calls, as far as its name does not say it."""
        if facts.opcode == "call_module" and facts.call is not None:
            return self._document.listing.targets[facts.call].name.rpartition(".")[2]
        parts = [part.strip("_") for part in facts.target.split(".")]
        return "" if stem in parts or stem == "_".join(parts) else facts.target
