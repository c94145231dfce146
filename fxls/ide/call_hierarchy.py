"""Who reads whom: a graph as a call hierarchy.

A node stands to the nodes that it reads as a function to those that it calls, so its
consumers are what calls it and its producers what it calls. A submodule calls what
was made while it ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.listing.value_text import short_form
from fxls.listing import Role
from fxls.text import Point, Span

__all__ = ["Call", "CallItem", "callees", "callers", "item_at", "item_of"]


@dataclass(frozen=True, slots=True)
class CallItem:
    """A node, or a submodule's group of nodes, in the hierarchy."""

    path: str
    """The listing."""
    first: int
    """The node, or the first node of the group."""
    scope: int | None
    """The row of the group's submodule; None for a node, -1 for the whole forward."""
    name: str
    detail: str
    kind: str
    """The opcode, ``module`` or ``forward``."""
    whole: Span
    focus: Span


@dataclass(frozen=True, slots=True)
class Call:
    """An item at the other end, and where the reading is written."""

    item: CallItem
    spans: tuple[Span, ...]


def item_at(document: Document, point: Point) -> CallItem | None:
    """The node under a cursor; on the ``def`` the forward."""
    touched = document.touched(point)
    if touched is not None:
        return _node(document, touched.node)
    if document.on_definition(point):
        return _group(document, document.groups)
    return None


def item_of(document: Document, first: int, scope: int | None) -> CallItem | None:
    """The item that another one said; None when the listing has no such."""
    if not 0 <= first < len(document.listing.nodes):
        return None
    if scope is None:
        return _node(document, first)
    group = _group_of(document, first, scope)
    return _group(document, group) if group else None


def callers(document: Document, item: CallItem) -> tuple[Call, ...]:
    """The nodes that read a node; the module that a group is part of."""
    if item.scope is not None:
        return tuple(_above(document, item))
    return tuple(
        Call(_node(document, user), _reads(document, user, item.first))
        for user in document.listing.nodes[item.first].users
    )


def callees(document: Document, item: CallItem) -> tuple[Call, ...]:
    """The nodes that a node reads; what was made in a group."""
    if item.scope is None:
        return tuple(
            Call(_node(document, read), _reads(document, item.first, read))
            for read in document.read_by(item.first)
        )
    group = _group_of(document, item.first, item.scope)
    return tuple(_members(document, group)) if group else ()


def _members(document: Document, group: Group) -> Iterator[Call]:
    for member in group.members:
        if isinstance(member, int):
            item = _node(document, member)
        else:
            item = _group(document, member)
        yield Call(item, (item.focus,))


def _above(document: Document, item: CallItem) -> Iterator[Call]:
    for group in (document.groups, *document.groups.within()):
        for member in group.members:
            if not isinstance(member, int) and _names(member, item.first, item.scope):
                yield Call(_group(document, group), (item.focus,))


def _names(group: Group, first: int, scope: int | None) -> bool:
    return group.first == first and group.scope == (None if scope == -1 else scope)


def _group_of(document: Document, first: int, scope: int | None) -> Group | None:
    found = (document.groups, *document.groups.within())
    return next((group for group in found if _names(group, first, scope)), None)


def _reads(document: Document, reader: int, read: int) -> tuple[Span, ...]:
    """Where the statement of a node reads another one."""
    line = document.listing.nodes[reader].line
    return tuple(
        mark.span
        for mark in document.marks_in(line, line)
        if mark.node == read and mark.role is Role.READS
    )


def _node(document: Document, node: int) -> CallItem:
    facts = document.listing.nodes[node]
    there = document.destination(node)
    value = f" → {short_form(facts.value)}" if facts.value is not None else ""
    return CallItem(
        document.path,
        node,
        None,
        facts.name,
        f"{facts.target}{value}",
        facts.opcode,
        there.whole,
        there.focus,
    )


def _group(document: Document, group: Group) -> CallItem:
    listing = document.listing
    if group.scope is None:
        start = document.start
        whole = Span(start.whole.start, document.end)
        name = f"{listing.identity.qualname}.forward"
        return CallItem(document.path, 0, -1, name, "", "forward", whole, start.focus)
    scope = listing.scopes[group.scope]
    first, last = document.destination(group.first), document.destination(group.last)
    return CallItem(
        document.path,
        group.first,
        group.scope,
        scope.path,
        scope.type.rpartition(".")[2],
        "module",
        Span(first.whole.start, max(first.whole.end, last.whole.end)),
        first.focus,
    )
