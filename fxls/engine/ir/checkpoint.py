"""Graphs and modules as they are, to go back to when an edit fails half-way."""

from __future__ import annotations

from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING

from torch.nn import Module

from fxls.engine.ir.node import Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.snapshot import note_node, note_order

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = ["Checkpoint", "SubmodulesCheckpoint"]


class Checkpoint:
    """A block after which the graph is as it was before, if the block raises.

    - Order, opcodes, targets, arguments, users and names come back; `meta` and what
      else was set on nodes stays as the block left it.
    - Taking one costs a fraction of a microsecond for each node.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        nodes = ordered(graph)
        self._rows = [*zip(nodes, map(_CONTENT, nodes), strict=True)]
        self._users = {
            node: users.copy() for node in nodes if type(users := node._users) is dict
        }
        """Of the nodes that have them in a dict, which changes with them."""
        self._insert_point = graph._insert_point
        self._names = graph._graph_namespace.copy()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.restore()

    def restore(self) -> None:
        """Undo everything since the checkpoint was taken."""
        graph = self._graph
        note_order(graph)
        graph._edits += 1
        for node in graph.nodes:
            node._erased = True
        before = root = graph._root
        for node, content in self._rows:
            note_node(node)
            node._op, node._target, node._args, node._kwargs, *names, users = content
            node._name, node._type, node._sort_key = names
            node._last_user = node._line = None
            node._erased = False
            _restore_users(node, self._users.get(node, users))
            before._next, node._prev = node, before
            before = node
        before._next, root._prev = root, before
        graph._len = len(self._rows)
        graph._insert_point = self._insert_point
        graph._graph_namespace = self._names
        graph._index = None
        graph._reordered()


class SubmodulesCheckpoint:
    """A block after which a module has the submodules that it had, if the block raises.

    Those of submodules as well; parameters and other attributes are not looked at.
    """

    def __init__(self, module: Module) -> None:
        self._children = [(one, dict(one._modules)) for one in module.modules()]

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            for module, children in self._children:
                module._modules.clear()
                module._modules.update(children)


_CONTENT = attrgetter(
    *("_op", "_target", "_args", "_kwargs", "_name", "_type", "_sort_key", "_users")
)
"""What a node is, all in one look: most of what a checkpoint of a large graph costs."""


def _restore_users(node: Node, users: dict[Node, None] | Node | None) -> None:
    current = node._users
    if type(current) is not dict:
        node._users = users
        return
    # `users` was read: whoever has it goes on seeing the truth.
    current.clear()
    if isinstance(users, Node):
        current[users] = None
    elif users is not None:
        current.update(users)
