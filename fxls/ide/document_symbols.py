"""The outline of a listing: its nodes, in the submodules that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.listing.value_text import short_form
from fxls.listing import Facts
from fxls.text import Span

__all__ = ["Symbol", "outline"]

FORWARD = "forward"
MODULE = "module"


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """A part of a listing that has a name."""

    name: str
    detail: str
    kind: str
    """`FORWARD`, `MODULE`, or the opcode of a node."""
    whole: Span
    focus: Span
    """A part of `whole`."""
    children: Iterable[Symbol] = ()
    """To be gone through once: of a large listing they are never there all at a time."""


def outline(document: Document) -> Symbol:
    """The forward with all that is in it.

    Of a submodule whose nodes are not all together there are several symbols.
    """
    listing = document.listing
    return Symbol(
        f"{listing.identity.qualname}.forward",
        "",
        FORWARD,
        Span(document.start.whole.start, document.end),
        document.start.focus,
        _children(document, document.groups),
    )


def _children(document: Document, group: Group) -> Iterator[Symbol]:
    return (
        _node(document, member)
        if isinstance(member, int)
        else _module(document, member)
        for member in group.members
    )


def _node(document: Document, node: int) -> Symbol:
    facts = document.listing.nodes[node]
    mark = document.binding(node)
    whole = document.statement(facts.line if mark is None else mark.line)
    said = _kind(document, facts)
    if facts.value is not None:
        shape = short_form(facts.value)
        said = f"{said} {shape}" if said and shape else said or shape
    return Symbol(facts.name, said, facts.opcode, whole, mark.span if mark else whole)


def _kind(document: Document, facts: Facts) -> str:
    """What a node calls, as far as its name does not say it."""
    if facts.opcode == "call_module" and facts.call is not None:
        return document.listing.targets[facts.call].name.rpartition(".")[2]
    name = _NUMBER.sub("", facts.name)
    parts = [part.strip("_") for part in facts.target.split(".")]
    return "" if name in parts or name == "_".join(parts) else facts.target


_NUMBER = re.compile(r"_\d+$")


def _module(document: Document, group: Group) -> Symbol:
    assert group.scope is not None
    scope = document.listing.scopes[group.scope]
    first = document.destination(group.first)
    last = document.destination(group.last)
    return Symbol(
        scope.path,
        scope.type.rpartition(".")[2],
        MODULE,
        Span(first.whole.start, max(first.whole.end, last.whole.end)),
        first.focus,
        _children(document, group),
    )
