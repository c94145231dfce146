"""Finding the places in a graph that look like a pattern, which is a graph as well."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.ir import dependence
from fxls.engine.ir.arguments import Argument
from fxls.engine.ir.node import Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.users import users_of
from fxls.engine.module import attributes
from fxls.engine.torch_private import OpOverload

__all__ = ["InternalMatch", "SubgraphMatcher"]

logger = logging.getLogger(__name__)


@dataclass
class InternalMatch:
    """A place in a graph that looks like the pattern."""

    anchors: list[Node]
    """The nodes of the pattern at which the search began: its results."""
    nodes_map: dict[Node, Argument] = field(default_factory=dict[Node, Argument])
    """Node of the pattern to node of the graph; a placeholder may stand for a value."""
    placeholder_nodes: list[Argument] = field(default_factory=list[Argument])
    """What the placeholders of the pattern stand for, in their order."""
    returning_nodes: list[Node] = field(default_factory=list[Node])
    """The nodes of the graph that give what the pattern returns, each once."""
    name_node_map: dict[str, Node] = field(default_factory=dict[str, Node])
    """By the names that the pattern gives (`SubgraphMatcherWithNameNodeMap`)."""

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            self.nodes_map.copy(),
            self.placeholder_nodes.copy(),
            self.returning_nodes.copy(),
        )


class SubgraphMatcher:
    """Finds every match of a pattern.

    - The search starts at the pattern's results and goes from each node to what it
      uses, so it never has to choose, except between candidates for the results.
    - A placeholder of the pattern stands for any node or value, the same one wherever
      it is used; two placeholders do not stand for one node.
    - What only the pattern's inner nodes compute must not be used outside of the match.
    - Matches come in the order of the candidates for the first result.
    - Of those that overlap the first counts, and one that could not be made a single
      node, because it uses what it computes, is none. Neither is removed when
      overlapping matches are kept.

    A subclass may override `_nodes_are_equal`, `_match_attributes`, `_match_literals`.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        match_placeholder: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        remove_overlapping_matches: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        ignore_literals: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        """Take a pattern apart.

        `match_output` and `match_placeholder` compare those nodes too, as for whole
        graphs; `ignore_literals` lets values differ that are no nodes.
        """
        self.ignore_literals = ignore_literals
        self.remove_overlapping_matches = remove_overlapping_matches
        self.match_placeholder = match_placeholder
        self.match_output = match_output
        self.pattern = pattern
        if not len(pattern.nodes):
            raise ValueError("an empty pattern matches nothing: it has no nodes")
        for node in pattern.nodes:
            if not node.users and node.op != "output" and not node.is_impure():
                raise AssertionError(
                    f"the pattern has dead code, which cannot be matched: nothing uses"
                    f" {node.format_node()}"
                )
        self.pattern_placeholder_nodes = [
            node for node in pattern.nodes if node.op == "placeholder"
        ]
        output = list(pattern.nodes)[-1]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors: list[Node] = (
            [output]
            if match_output
            else [node for node in output.all_input_nodes if len(node.users) == 1]
        )
        self._approaches = [
            _approach(self.pattern_anchors[:i], anchor)
            for i, anchor in enumerate(self.pattern_anchors)
        ]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches in a graph, without overlapping ones when those are removed.

        With `node_name_match`, a node whose name contains it is equal to every node of
        the pattern, whatever it does.
        """
        return list(_Search(self, graph, node_name_match).matches())

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        """Whether two nodes do the same, their arguments left aside."""
        op = pn._op
        if op == "placeholder" and not self.match_placeholder:
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if op != gn._op:
            return False
        if op == "placeholder" or op == "output":
            return True
        if op == "get_attr":
            return self._match_attributes(pn, gn)
        return bool(pn._target == gn._target)

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two attributes are of one kind; tensors alone can be compared."""
        wanted, given = _attribute(pn), _attribute(gn)
        if type(wanted) is not type(given):
            return False
        if isinstance(wanted, torch.Tensor):
            return True
        raise RuntimeError(
            f"Unsupported type {type(wanted).__name__}: attribute {pn.target!r} of the"
            " pattern cannot be matched, only tensors can"
        )

    def _match_literals(self, pn: Argument, gn: Argument, match: InternalMatch) -> bool:
        """Whether two arguments agree of which at most one is a node."""
        assert not (isinstance(pn, Node) and isinstance(gn, Node)), (pn, gn)
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return bool(match.nodes_map[pn] == gn)
            match.nodes_map[pn] = gn
            return True
        return type(gn) is type(pn) and bool(gn == pn)


class _Search:
    """One search of a pattern through one graph."""

    def __init__(self, matcher: SubgraphMatcher, graph: Graph, name: str) -> None:
        self._matcher = matcher
        self._graph = graph
        self._name = name
        self._anchors: list[Node] = []
        self._candidates: list[list[Node]] = []
        self._candidate_sets: list[set[Node]] = []
        self._taken: set[Node] = set()
        self._is_ordered: bool | None = None
        returned = set(matcher.pattern_returning_nodes)
        self._has_one_result = len(returned) == 1 and not matcher.match_output
        self._pattern = list(matcher.pattern.nodes)
        self._computed = [
            node for node in self._pattern if node.op not in ("placeholder", "output")
        ]
        self._inner = [node for node in self._computed if node not in returned]
        self._is_whole_with = len(self._pattern) - (not matcher.match_output)
        """How many nodes of the pattern are bound where all are."""
        self._is_plain = (
            not name
            and type(matcher)._nodes_are_equal is SubgraphMatcher._nodes_are_equal
        )

    def matches(self) -> Iterator[InternalMatch]:
        matcher = self._matcher
        self._anchors = matcher.pattern_anchors
        self._candidates = [self._equal_to(anchor) for anchor in self._anchors]
        if not self._anchors or not all(self._candidates):
            return
        self._candidate_sets = [set(nodes) for nodes in self._candidates[1:]]
        for match in self._from(0, InternalMatch(anchors=matcher.pattern_anchors)):
            computed: list[Node] = [match.nodes_map[node] for node in self._computed]
            if not self._is_contained(match, computed):
                logger.info("dropped: inner nodes are used outside of %s", match)
            elif not matcher.remove_overlapping_matches:
                yield match
            elif self._is_cyclic(computed):
                logger.info("dropped: made one, it would use itself: %s", match)
            elif self._taken.isdisjoint(computed):
                self._taken.update(computed)
                yield match
            else:
                logger.info("dropped: it overlaps one in front of it: %s", match)

    def _from(self, index: int, found: InternalMatch) -> Iterator[InternalMatch]:
        """The matches that agree with `found`, which covers the anchors before `index`."""
        anchor = self._anchors[index]
        is_last = index + 1 == len(self._anchors)
        may_overlap = (
            not self._matcher.remove_overlapping_matches or anchor.op == "placeholder"
        )
        for node in self._reachable(index, found):
            if not may_overlap and node in self._taken:
                continue
            match = found.__copy__()
            if not self._bind(anchor, node, match):
                continue
            if is_last:  # most patterns have one anchor: without another generator
                if self._is_complete(match):
                    yield match
                continue
            for whole in self._from(index + 1, match):
                yield whole
                if not may_overlap and node in self._taken:
                    break

    def _equal_to(self, anchor: Node) -> list[Node]:
        """The nodes of the graph that an anchor could stand for, in their order."""
        op, target = anchor._op, anchor._target
        if self._is_plain and op in _BY_TARGET:
            if self._graph._index is not None:
                return self._graph.find_nodes(op=op, target=target)
            # An index would take longer, and every edit would have to keep it true.
            nodes = ordered(self._graph)
            return [node for node in nodes if node._op == op and node._target == target]
        equal = self._matcher._nodes_are_equal
        return [node for node in self._graph.nodes if equal(anchor, node, self._name)]

    def _reachable(self, index: int, found: InternalMatch) -> list[Node]:
        """The candidates for an anchor that what is found already can lead to."""
        candidates = self._candidates[index]
        start, steps = self._matcher._approaches[index]
        if start is None or self._matcher.ignore_literals or self._name:
            return candidates
        begin = found.nodes_map.get(start)
        if not isinstance(begin, Node):
            return candidates
        near = {begin}
        for _ in range(steps):
            near = {user for node in near for user in users_of(node)}
            if len(near) > len(candidates):
                return candidates
        return sorted(near & self._candidate_sets[index - 1])

    def _bind(self, anchor: Node, node: Node, match: InternalMatch) -> bool:  # noqa: C901 - one loop: every node of every match passes through it
        """Whether an anchor, and all it uses, agrees with a node; notes it in `match`."""
        matcher = self._matcher
        nodes_map, are_equal = match.nodes_map, matcher._nodes_are_equal
        bound = {x for x in nodes_map.values() if isinstance(x, Node)}
        waiting: list[tuple[Argument, Argument]] = [(anchor, node)]
        while waiting:
            wanted, given = waiting.pop()
            if isinstance(wanted, Node) and isinstance(given, Node):
                if wanted in nodes_map:
                    if nodes_map[wanted] is not given:
                        return False
                    continue
                if given in bound or not are_equal(wanted, given, self._name):
                    return False
                nodes_map[wanted] = given
                bound.add(given)
                if wanted._op == "placeholder":
                    continue
                args, others = wanted._args, given._args
                if len(args) != len(others) or wanted._kwargs or given._kwargs:
                    pairs = _paired(wanted, given)
                    if pairs is None:
                        return False
                    waiting.extend(reversed(pairs))
                elif len(args) == 1:
                    waiting.append((args[0], others[0]))
                else:
                    waiting.extend(zip(args[::-1], others[::-1], strict=True))
            elif isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
                inside = _zipped(
                    cast("Sequence[Any]", wanted), cast("Sequence[Any]", given)
                )
                if inside is None:
                    return False
                waiting.extend(reversed(inside))
            elif not (
                matcher._match_literals(wanted, given, match) or matcher.ignore_literals
            ):
                return False
        return True

    def _is_complete(self, match: InternalMatch) -> bool:
        """Whether the whole pattern is bound; if so, notes inputs and results."""
        matcher, nodes_map = self._matcher, match.nodes_map
        missing = self._pattern if len(nodes_map) != self._is_whole_with else ()
        for node in missing:
            if node in nodes_map or (node.op == "output" and not matcher.match_output):
                continue
            if node.users:
                return False  # what uses it was taken to be equal to a literal
            raise KeyError(
                f"{node.name}: the pattern does not use this {node.op} for what it"
                " returns, so nothing in the graph can be told to be it; leave it out"
            )
        match.placeholder_nodes = [
            nodes_map[node] for node in matcher.pattern_placeholder_nodes
        ]
        match.returning_nodes = [
            nodes_map[node] for node in matcher.pattern_returning_nodes
        ]
        return True

    def _is_contained(self, match: InternalMatch, computed: list[Node]) -> bool:
        """Whether nobody outside of the match uses what only inner nodes compute."""
        if not self._inner:
            return True
        nodes_map = match.nodes_map
        own = set(computed)
        if self._matcher.match_output:
            own.add(nodes_map[self._anchors[0]])
        for pattern in self._inner:
            for user in users_of(nodes_map[pattern]):
                if user not in own:
                    return False
        return True

    def _is_cyclic(self, computed: list[Node]) -> bool:
        """Whether a contained match, made one node, would use itself."""
        if len(computed) < 2:
            return False
        if self._is_ordered is None:
            self._is_ordered = dependence.is_ordered(self._graph)
        if self._is_ordered and self._has_one_result:
            return False  # one of its nodes alone is used outside, and that is the last
        return dependence.depends_on_itself(computed, is_ordered=self._is_ordered)


_BY_TARGET = frozenset({"call_function", "call_method", "call_module"})


def _approach(before: list[Node], anchor: Node) -> tuple[Node | None, int]:
    """A node bound with the anchors before, and how many uses lead from it to this one.

    None when they share nothing.
    """
    bound: set[Node] = set()
    waiting = list(before)
    while waiting:
        node = waiting.pop()
        if node not in bound:
            bound.add(node)
            waiting.extend(node.all_input_nodes)
    level, steps = {anchor: None}, 0
    while level:
        for node in level:
            if node in bound:
                return node, steps
        level = {used: None for node in level for used in node.all_input_nodes}
        steps += 1
    return None, 0


def _attribute(node: Node) -> Any:
    module = node.graph.owning_module
    if module is None:
        raise AssertionError(
            f"the graph of {node.format_node()} has no owning module, so the attribute"
            " cannot be read and compared; give a GraphModule"
        )
    return attributes.fetch(module, str(node.target))


def _paired(wanted: Node, given: Node) -> list[tuple[Argument, Argument]] | None:
    """The arguments of two equal nodes side by side; None when they cannot agree."""
    args, others = wanted._args, given._args
    keywords, other_keywords = wanted._kwargs, given._kwargs
    if len(args) == len(others):
        if not keywords and not other_keywords:
            return list(zip(args, others, strict=True))
        if list(keywords) == list(other_keywords):
            return [
                *zip(args, others, strict=True),
                *zip(keywords.values(), other_keywords.values(), strict=True),
            ]
    target: Any = wanted.target
    if isinstance(target, OpOverload):
        schema = cast("Any", target)._schema.arguments
        return list(zip(_filled(wanted, schema), _filled(given, schema), strict=True))
    return None


def _filled(node: Node, schema: Sequence[Any]) -> list[Argument]:
    """The arguments of a call in the order of the schema, defaults where none is given."""
    filled: list[Argument] = []
    for place, parameter in enumerate(schema):
        if parameter.name in node.kwargs:
            filled.append(node.kwargs[parameter.name])
        elif place < len(node.args) and not parameter.kwarg_only:
            filled.append(node.args[place])
        else:
            filled.append(parameter.default_value)
    return filled


def _zipped(
    wanted: Sequence[Argument], given: Sequence[Argument]
) -> list[tuple[Argument, Argument]] | None:
    if len(wanted) != len(given):
        return None
    return list(zip(wanted, given, strict=True))
