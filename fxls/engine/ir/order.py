"""The order of the nodes of a graph: a linked list with labels that compare in O(1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxls.engine.ir.snapshot import note_order

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = ["GAP", "link_before", "prepend"]

GAP = 1 << 20
"""The distance between the order labels of nodes that were appended one by one."""


def link_before(node: Node, place: Node) -> None:
    """Put an unlinked node in front of another one of the same graph."""
    before = place._prev
    root = node.graph._root
    if place is root:
        node._sort_key = before._sort_key + GAP
    elif before is root:
        node._sort_key = place._sort_key - GAP
    else:
        if place._sort_key - before._sort_key < 2:
            _make_room(before, root)
        node._sort_key = (before._sort_key + place._sort_key) >> 1
    node._prev = before
    node._next = place
    before._next = place._prev = node


def prepend(self: Node, x: Node) -> None:
    """Move `x` directly in front of this node."""
    # It is a method of `Node`, and has `link_before` in it: a move is so short that each
    # call inside of it would be a sixth of its time.
    graph = self.graph
    if graph is not x.graph:
        raise AssertionError(
            f"cannot move {x} in front of {self}: they are of different graphs"
        )
    if x is self:
        return
    if graph._keeps_order:
        note_order(graph)
    before, behind = x._prev, x._next
    before._next = behind
    behind._prev = before
    before, root = self._prev, graph._root
    if self is root:
        x._sort_key = before._sort_key + GAP
    elif before is root:
        x._sort_key = self._sort_key - GAP
    else:
        key = (before._sort_key + self._sort_key) >> 1
        if key == before._sort_key:  # nothing is between; to ask so is a twentieth less
            _make_room(before, root)
            key = (before._sort_key + self._sort_key) >> 1
        x._sort_key = key
    x._prev = before
    x._next = self
    before._next = self._prev = x
    graph._touched[x] = None
    graph._edits += 1
    if graph._index is not None:
        graph._index.forget_order()
    if graph._order is not None:
        graph._reordered()


def _make_room(node: Node, root: Node) -> None:
    """Spread the labels behind `node` over the shortest run that is sparse enough.

    A run of j labels is sparse when it spans more than j squared; relabelling it leaves
    gaps, so insertions at one place cost O(log n) each (Dietz and Sleator, 1987).
    """
    key = node._sort_key
    count = 1
    end = node._next
    while end is not root and end._sort_key - key <= count * count:
        count += 1
        end = end._next
    step = GAP if end is root else (end._sort_key - key) // count
    at = node._next
    while at is not end:
        key += step
        at._sort_key = key
        at = at._next
