"""Replacing the matches of a pattern, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from fxls.engine.ir.arguments import EMPTY_KWARGS, Argument, map_references, references
from fxls.engine.ir.copying import insert_copies
from fxls.engine.ir.node import Node
from fxls.engine.ir.users import users_of
from fxls.engine.origins import resolve as origin

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.passes.utils.matcher_utils import InternalMatch

__all__ = ["Replacement", "Rewriting"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What to put in the place of a match: a graph, taken apart."""

    inputs: Sequence[Node]
    body: Sequence[Node]
    results: Sequence[Argument]

    @staticmethod
    def of(graph: Graph) -> Replacement:
        """Raises TypeError for a graph that returns no value of a node."""
        inputs: list[Node] = []
        body: list[Node] = []
        result: Argument = None
        for node in graph.nodes:
            if node.op == "output":
                result = node.args[0]
                break
            (inputs if node.op == "placeholder" else body).append(node)
        if isinstance(result, Node):
            results: Sequence[Argument] = (result,)
        elif isinstance(result, dict):
            results = tuple(cast("dict[Any, Argument]", result).values())
        elif isinstance(result, tuple | list):
            results = tuple(cast("Sequence[Argument]", result))
        else:
            raise TypeError(
                f"the replacement returns {result!r}, which no node gives: it has to"
                " return a value for each result of the pattern"
            )
        return Replacement(inputs, body, results)


class Rewriting:
    """Replaces matches, in their order.

    - A match may take what an earlier one gave: it takes what stands there instead.
    """

    def __init__(self, graph: Graph, pattern: Graph) -> None:
        self._graph = graph
        self._by: Replacement | None = None
        """The one whose counts agree with those of the pattern."""
        self._changed: dict[Node, Argument] = {}
        self._inputs = [node for node in pattern.nodes if node.op == "placeholder"]
        self._computed = [
            node for node in pattern.nodes if node.op not in ("placeholder", "output")
        ]

    def replace(self, match: InternalMatch, by: Replacement) -> list[Node]:
        """Put a replacement in the place of a match; the nodes that were made.

        Notes in `match` what its inputs are by this time.
        """
        graph, nodes_map = self._graph, match.nodes_map
        inputs = match.placeholder_nodes
        if by is not self._by:
            _check_counts(match, by)
            self._by = by
        for place, pattern in enumerate(self._inputs):
            now = inputs[place]
            if type(now) is not Node or now in self._changed:
                inputs[place] = now = map_references(now, self._current)
            nodes_map[pattern] = now
        returned = [self._current(node) for node in match.returning_nodes]
        matched: list[Any] = [nodes_map[node] for node in self._computed]
        values: dict[Node, Argument] = dict(zip(by.inputs, inputs, strict=True))
        place = self._place(match, matched, returned)
        made = insert_copies(graph, by.body, values, place)
        results = [map_references(one, values.__getitem__) for one in by.results]
        _give_origins(match, matched, made, results)
        _use(returned, results, made)
        for old, new in zip(match.returning_nodes, results, strict=True):
            self._changed[old] = new
        for node in reversed(matched):
            graph.erase_node(node)
        return made

    def _current(self, node: Node) -> Argument:
        """What stands for a node of the graph after the replacements so far."""
        now = self._changed.get(node, node)
        while isinstance(now, Node) and now._erased:
            now = self._changed[now]
        return now

    def _place(
        self,
        match: InternalMatch,
        matched: Sequence[Node],
        returned: Sequence[Argument],
    ) -> Node:
        """The node in front of which the replacement goes: the first user of a result.

        It moves behind the inputs when some of them stand behind that user.
        """
        nodes = [node for node in returned if isinstance(node, Node)]
        users: list[Node] = []
        for node in nodes:
            users += users_of(node)
        if not users:
            place = max(nodes).next if nodes else self._graph._root
            if place is self._graph._root:
                raise AssertionError(
                    "there is no place behind the match to insert the replacement: is the"
                    " pattern just one of its inputs, or the graph without an output?"
                )
            return place
        place = users[0] if len(users) == 1 else min(users, key=_ORDER)
        inputs = references(match.placeholder_nodes, EMPTY_KWARGS)
        latest = max(inputs, key=_ORDER, default=place)
        return place if latest <= place else _moved(matched, nodes, place, latest)


_ORDER = attrgetter("_sort_key")
"""By what nodes compare, which takes a call of Python for each two of them."""


def _moved(
    matched: Sequence[Node], returned: list[Node], first: Node, latest: Node
) -> Node:
    """Move what uses the results, from `first` on, behind `latest`."""
    own = set(matched)
    late = set(returned)
    moving: list[Node] = []
    node = first
    while node is not latest:
        if node not in own and not late.isdisjoint(node.all_input_nodes):
            late.add(node)
            moving.append(node)
        node = node.next
    for node in reversed(moving):
        latest.append(node)
    return latest.next


def _use(
    returned: Sequence[Argument], results: Sequence[Argument], made: list[Node]
) -> None:
    """Let the users of each old result use the new one."""
    new_nodes = set(made)
    for old, new in zip(returned, results, strict=True):
        if not isinstance(old, Node) or old is new:
            continue
        if isinstance(new, Node):
            if new_nodes.isdisjoint(users_of(old)):
                old.replace_all_uses_with(new)
            else:
                # The pattern returns one of its inputs, which the replacement uses.
                old.replace_all_uses_with(new, lambda user: user not in new_nodes)
            continue
        for user in [user for user in old.users if user not in new_nodes]:
            user.args = _replaced(user.args, old, new)
            user.kwargs = _replaced(user.kwargs, old, new)


def _check_counts(match: InternalMatch, by: Replacement) -> None:
    inputs, wanted = len(by.inputs), len(match.placeholder_nodes)
    if inputs != wanted:
        raise AssertionError(
            f"the replacement takes {inputs} inputs"
            f" ({', '.join(node.name for node in by.inputs)}) and the pattern"
            f" {wanted}: they must be the same, also where one is not used"
        )
    results, wanted = len(by.results), len(match.returning_nodes)
    if results != wanted:
        raise AssertionError(
            f"the replacement returns {results} values and the pattern {wanted}"
            f" ({', '.join(map(str, match.returning_nodes))}): they must be the same"
        )


def _give_origins(
    match: InternalMatch,
    matched: Sequence[Node],
    made: Sequence[Node],
    results: Sequence[Argument],
) -> None:
    """Let new nodes come from all matched ones, and from the replacement's own lines.

    A node that gives a result comes from the old result first, the others from the
    anchor's.
    """
    frames = {node: node._frames for node in sorted(matched, key=_ORDER)}
    first = {
        new: frames.get(old) or old._frames
        for old, new in zip(match.returning_nodes, results, strict=True)
        if isinstance(new, Node)
    }
    anchor = match.nodes_map[match.anchors[0]]._frames
    parts = frames.values()
    for node in made:
        node._frames = origin.merge([first.get(node, anchor), *parts, node._frames])


def _replaced(argument: Argument, old: Node, new: Argument) -> Argument:
    return map_references(argument, lambda node: new if node is old else node)
