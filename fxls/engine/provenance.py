"""Which passes made a node, and from which node: what ``meta["from_node"]`` holds."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.node import Node

__all__ = ["NodeSource", "NodeSourceAction", "get_graph_provenance_json"]

_DEEPEST = 9
"""How many sources behind one another are printed."""


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


class NodeSource:
    """That one pass made a node from another one; and where that came from, in turn.

    Sources are equal when all that they say is.
    """

    NodeInfo = _Named

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        actions = action if isinstance(action, list) else [action] if action else []
        for one in actions:
            if not isinstance(one, NodeSourceAction):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
                raise AssertionError(f"an action is a NodeSourceAction, not {one!r}")
        self.pass_name = pass_name
        self.action = actions
        self.node_info: _Named | None = None
        self.from_node: list[NodeSource] = []
        if node is not None:
            self.node_info = _Named(node.name, str(node.target), id(node.graph))
            self.from_node = list(node.noted("from_node") or ())

    @property
    def graph_id(self) -> int:
        """A number for the graph of the node; -1 when there is none."""
        return self._named.graph_id

    @property
    def target(self) -> str:
        """The target of the node as text; empty when there is none."""
        return self._named.target

    @property
    def name(self) -> str:
        """The name of the node; empty when there is none."""
        return self._named.name

    @property
    def _named(self) -> _Named:
        return self.node_info or _NOBODY

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


def get_graph_provenance_json(graph: Graph) -> dict[str, Any]:
    """The sources of each call of a function, by the node's name, as plain values."""
    return {
        node.name: [one.to_dict() for one in node.noted("from_node") or ()]
        for node in graph.nodes
        if node.op == "call_function"
    }
