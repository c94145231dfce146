"""Which passes made a node, and from which node: what ``meta["from_node"]`` holds."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fxls.engine.ir.foreign import noted
from fxls.engine.lasting import lasting

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["NodeSource", "NodeSourceAction", "get_graph_provenance_json"]

_DEEPEST = 9
"""How many sources behind one another are printed."""


@lasting("fxls.engine.traceback")
class NodeSourceAction(enum.Enum):
    """What a pass did with a node."""

    CREATE = "create"
    REPLACE = "replace"


class _Named(NamedTuple):
    """The node that a source is about, as it was then."""

    name: str
    target: str
    graph_id: int


_NOBODY = _Named("", "", -1)


@lasting("fxls.engine.traceback")
class NodeSource:
    """That one pass made a node from another one; and where that came from, in turn.

    Sources are equal when all that they say is.
    """

    NodeInfo = _Named

    name: str = ""
    """That of the node; empty when there is none."""
    target: str = ""
    """That of the node, as text."""
    graph_id: int = -1
    """A number for the graph of the node; -1 when there is none."""

    # One is made for each node that a transform makes. Its lists wait until they are
    # asked for: with them the collector took a third more time.

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        if type(action) is not NodeSourceAction:
            action = _checked(action)
        self._action: list[NodeSourceAction] | NodeSourceAction = action
        self._from_node: list[NodeSource] | None = None
        if node is not None:
            self.name, self.target = node.name, str(node.target)
            self.graph_id = id(node.graph)
            known = noted(node, "from_node")
            if known:
                self._from_node = list(known)

    @property
    def action(self) -> list[NodeSourceAction]:
        """What the pass did."""
        if not isinstance(self._action, list):
            self._action = [self._action]
        return self._action

    @action.setter
    def action(self, action: list[NodeSourceAction]) -> None:
        self._action = action

    @property
    def from_node(self) -> list[NodeSource]:
        """Where the node itself came from."""
        if self._from_node is None:
            self._from_node = []
        return self._from_node

    @from_node.setter
    def from_node(self, sources: list[NodeSource]) -> None:
        self._from_node = sources

    @property
    def node_info(self) -> _Named | None:
        """The node as it was then; None when there is none."""
        named = _Named(self.name, self.target, self.graph_id)
        return None if named == _NOBODY else named

    @node_info.setter
    def node_info(self, named: _Named | None) -> None:
        self.name, self.target, self.graph_id = named or _NOBODY

    def print_readable(self, indent: int = 0) -> str:
        """One line for the source, and below it those it came from, further in."""
        if indent > _DEEPEST:
            return ""
        line = (
            f"{'    ' * indent}(name={self.name}, pass_name={self.pass_name},"
            f" action={self._actions}, graph_id={self.graph_id})\n"
        )
        return line + "".join([s.print_readable(indent + 1) for s in self.from_node])

    def to_dict(self) -> dict[str, Any]:
        """The source as plain values."""
        return self._plain

    @classmethod
    def _from_dict(cls, d: Mapping[str, Any] | None) -> NodeSource | None:
        """The source that `to_dict` made plain; None for None."""
        if d is None:
            return None
        if not isinstance(d, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            raise AssertionError(f"a source is made from a dict, not {d!r}")
        names = cast("str", d.get("action") or "").upper().split("+")
        known = NodeSourceAction.__members__
        made = cls(
            None, d.get("pass_name", ""), [known[n] for n in names if n in known]
        )
        if {"name", "target", "graph_id"} <= d.keys():
            made.node_info = _Named(d["name"], d["target"], d["graph_id"])
        sources = [cls._from_dict(one) for one in d.get("from_node") or ()]
        made.from_node = [one for one in sources if one is not None]
        return made

    @property
    def _actions(self) -> str:
        return "+".join([one.value for one in self.action])

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._actions,
            "from_node": [one.to_dict() for one in self.from_node],
        }

    def __repr__(self) -> str:
        return self.print_readable()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self._plain == other._plain

    def __hash__(self) -> int:
        return hash((self.node_info, self.pass_name, self._actions))


def _checked(
    action: NodeSourceAction | list[NodeSourceAction] | None,
) -> list[NodeSourceAction]:
    actions = action if isinstance(action, list) else [action] if action else []
    for one in actions:
        if not isinstance(one, NodeSourceAction):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            raise AssertionError(f"an action is a NodeSourceAction, not {one!r}")
    return actions


def get_graph_provenance_json(graph: Graph) -> dict[str, Any]:
    """The sources of each call of a function, by the node's name, as plain values."""
    return {
        node.name: [one.to_dict() for one in noted(node, "from_node") or ()]
        for node in graph.nodes
        if node.op == "call_function"
    }
