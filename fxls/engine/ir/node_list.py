"""The nodes of a graph in order: a live view, and iterations that edits do not disturb."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from fxls.engine.ir.foreign import refuse_foreign

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["WALKED", "NodeList", "Order", "ordered"]


class NodeList:
    """The nodes of a graph, in order.

    - Erasing or inserting while iterating is fine: the iteration goes on behind the
      node that it gave last, or behind the place where that one was.
    """

    __slots__ = ("_reverse", "graph")

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        assert direction in ("_next", "_prev"), direction
        self.graph = graph
        self._reverse = direction == "_prev"

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        graph = self.graph
        order = graph._order
        if order is None:
            links = _backwards if self._reverse else _forwards
            return links(graph, graph._root)
        if type(order) is not Order:
            order = ordered(graph)
        walk = _Walk(graph, order, is_reverse=self._reverse)
        order.walks.add(ref(walk, order.walks.discard))
        return itertools.chain.from_iterable(walk)

    def __reversed__(self) -> Iterator[Node]:
        # A NodeList as well, which typing's `reversed` does not allow.
        return cast("Any", NodeList(self.graph, "_next" if self._reverse else "_prev"))


class Order(list["Node"]):
    """The nodes of a graph as a list, for as long as their order does not change.

    Following the links of the nodes costs 45 ns each, walking a list 8. So an iteration
    walks the list until the graph is edited, and then the links, from where it was.
    """

    __slots__ = ("walks",)

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__(nodes)
        self.walks: set[ref[_Walk]] = set()

    def end(self) -> None:
        """Let every iteration over this list go on by the links."""
        if self.walks:
            for walk in [known() for known in self.walks]:
                if walk is not None:
                    walk.interrupt(self)
            self.clear()


WALKED: tuple[()] = ()
"""The order of a graph that was walked to its end: worth a list from the next time on."""


def ordered(graph: Graph) -> Order:
    """The nodes in a list that is not to be changed, nor the graph while it is walked."""
    try:
        order = graph._order
    except AttributeError:
        refuse_foreign(graph)
        raise
    if type(order) is Order:
        return order
    nodes: list[Node] = []
    add = nodes.append
    root = graph._root
    node = root._next
    while node is not root:
        add(node)
        node = node._next
    order = graph._order = Order(nodes)
    return order


class _Walk:
    """One iteration over an `Order`: the parts of it, of which the second is by links.

    The first part is an iterator of Python's own: it stops when the list is emptied.
    """

    __slots__ = ("__weakref__", "_graph", "_is_reverse", "_listed", "_parts")

    def __init__(self, graph: Graph, order: Order, *, is_reverse: bool) -> None:
        self._graph = graph
        self._is_reverse = is_reverse
        self._listed: Any = reversed(order) if is_reverse else iter(order)
        self._parts: list[Iterator[Node]] = [self._listed]

    def __iter__(self) -> Iterator[Iterator[Node]]:
        return self

    def __next__(self) -> Iterator[Node]:
        if not self._parts:
            raise StopIteration
        return self._parts.pop()

    def interrupt(self, order: Order) -> None:
        """Go on by the links, from the node that was given last."""
        left: int = self._listed.__length_hint__()
        if self._is_reverse:
            last = order[left] if left < len(order) else self._graph._root
            self._parts = [_backwards(self._graph, last)]
        else:
            at = len(order) - left
            last = order[at - 1] if at else self._graph._root
            self._parts = [_forwards(self._graph, last)]


def _forwards(graph: Graph, node: Node) -> Iterator[Node]:
    """The nodes behind one, or behind where it was when it was erased."""
    root = graph._root
    state = (graph._edits, graph._len)
    from_start = node is root
    node = node._next
    while node is not root:
        if not node._erased:
            yield node
        node = node._next
    if from_start and graph._order is None and state == (graph._edits, graph._len):
        graph._order = WALKED


def _backwards(graph: Graph, node: Node) -> Iterator[Node]:
    """The nodes in front of one, or of where it was when it was erased."""
    root = graph._root
    node = node._prev
    while node is not root:
        if not node._erased:
            yield node
        node = node._prev
