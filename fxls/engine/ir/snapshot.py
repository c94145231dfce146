"""What a graph was at one moment, at no cost for as long as nobody edits it.

Code is written when it is needed, and is that of the graph as it was when it was asked
for. So for as long as somebody has the last snapshot of a graph, whoever edits the graph
keeps before each edit what is about to change: a node, or the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

from fxls.engine.ir.node_list import Order

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.arguments import Arguments, Keywords
    from fxls.engine.ir.node import Node
    from fxls.engine.ir.opcodes import Target

    Content: TypeAlias = tuple[str, Target, Arguments, Keywords, str, Any]
    """Opcode, target, args, kwargs, name and type of a node."""

__all__ = ["Snapshot", "note_node", "note_order", "snapshot_of"]


class Snapshot:
    """The nodes of one graph and the rules of its code, as they were.

    - What nodes note in `meta` is not part of it, nor is what a `CodeGen` computes.
    """

    __slots__ = (
        "__weakref__",
        "_depth",
        "_later",
        "_order",
        "_were",
        "codegen",
        "graph",
        "rules",
    )

    def __init__(self, graph: Graph, depth: int = 0) -> None:
        self.graph = graph
        """The graph as it is today."""
        self.codegen: Any = graph._codegen
        self.rules: dict[str, Any] = self.codegen.__dict__.copy()
        """The attributes of the CodeGen."""
        self._were: dict[Node, Content] = {}
        """What the nodes were that changed since."""
        self._order: list[Node] | None = None
        """The nodes in their order, once that changed."""
        self._later: Snapshot | None = None
        """What has the rest: a snapshot that was taken after an edit; None when it is
        the graph."""
        self._depth = depth
        """How many snapshots may depend on this one."""
        graph._snapshot = ref(self)
        graph._were = self._were
        graph._keeps_order = True

    def __del__(self) -> None:
        self._end()

    @property
    def is_current(self) -> bool:
        """Whether the graph is what it was."""
        return (
            self._order is None
            and not self._were
            and self._later is None
            and self.graph._codegen is self.codegen
            and self.has_same_rules
        )

    @property
    def has_same_rules(self) -> bool:
        """Whether the CodeGen is what it was."""
        rules, now = self.rules, self.codegen.__dict__
        if len(rules) != len(now):
            return False
        return all(now.get(name) is value for name, value in rules.items())

    def rows(self) -> list[tuple[Node, Content]]:
        """The nodes in the order that they had, and what they were.

        Later edits need not be kept for it then.
        """
        order = self._nodes()
        rows = [(node, self._content(node)) for node in order]
        self._end()
        self._order, self._were, self._later = order, dict(rows), None
        return rows

    def next(self) -> Snapshot:
        """The graph as it is, which is another than this."""
        if self._depth == _DEEPEST:
            self.rows()
            return Snapshot(self.graph)
        self._later = Snapshot(self.graph, self._depth + 1)
        return self._later

    def keep_order(self) -> None:
        """Keep the order of the nodes, which is about to change."""
        if self._order is None:
            self._order = self._nodes()

    def _nodes(self) -> list[Node]:
        if self._order is not None:
            return self._order
        return _listed(self.graph) if self._later is None else self._later._nodes()

    def _content(self, node: Node) -> Content:
        found = self._were.get(node)
        if found is not None:
            return found
        return _content(node) if self._later is None else self._later._content(node)

    def _end(self) -> None:
        """Let nobody keep anything for this snapshot."""
        graph = self.graph
        if graph._were is self._were:
            graph._were = None
            graph._keeps_order = False


def snapshot_of(graph: Graph) -> Snapshot:
    """The graph as it is."""
    known = graph._snapshot
    last = None if known is None else known()
    if last is None:
        return Snapshot(graph)
    return last if last.is_current else last.next()


def note_node(node: Node) -> None:
    """Keep what a node is, which is about to change, if somebody needs it."""
    were = node.graph._were
    if were is not None and node not in were:
        # What `_content` gives, without the call.
        were[node] = (
            node._op,
            node._target,
            node._args,
            node._kwargs,
            node._name,
            node._type,
        )


def note_order(graph: Graph) -> None:
    """Keep the order of a graph, which is about to change, if somebody needs it."""
    if graph._keeps_order:
        graph._keeps_order = False
        last = None if graph._snapshot is None else graph._snapshot()
        if last is not None:
            last.keep_order()


def _content(node: Node) -> Content:
    call = (node._op, node._target, node._args, node._kwargs)
    return (*call, node._name, node._type)


def _listed(graph: Graph) -> list[Node]:
    """The nodes in a list of its own."""
    order = graph._order
    if type(order) is Order:
        return list(order)
    nodes: list[Node] = []
    add, root = nodes.append, graph._root
    node = root._next
    while node is not root:
        add(node)
        node = node._next
    return nodes


_DEEPEST = 32
"""So many snapshots depend on another one, so that none keeps all that were ever made."""
