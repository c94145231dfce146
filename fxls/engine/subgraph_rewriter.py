"""Replacing every place in a graph that looks like a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import torch

from fxls.engine import collector, origin, replacement_attributes
from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.arguments import EMPTY_KWARGS, Argument, map_references, references
from fxls.engine.checkpoint import Checkpoint
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule, PendingForward
from fxls.engine.node import Node
from fxls.engine.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]


class Match(NamedTuple):
    """A place that was replaced."""

    anchor: Node
    """The node of the pattern at which the search began: its first result."""
    nodes_map: dict[Node, Argument]
    """Node of the pattern to the node, or value, that it stood for."""


@dataclass
class ReplacedPatterns:
    """A place that was replaced, and what stands there."""

    anchor: Node
    """The node of the pattern at which the search began: its first result."""
    nodes_map: dict[Node, Argument]
    """Node of the pattern to the node, or value, that it stood for."""
    replacements: list[Node]
    """The nodes that were put in, in the order of the graph."""


MatchFilter: TypeAlias = Callable[[InternalMatch, Graph, Graph], bool]
"""Gets a match, the graph and the pattern's graph; False leaves the place as it is."""

MakeReplacement: TypeAlias = Callable[[InternalMatch, Graph, Graph], Graph]
"""Gets a match, the graph and the pattern's graph, and makes what to put there."""


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Put `replacement` wherever the graph of `gm` looks like `pattern`.

    - Both are functions or modules to trace, or GraphModules. The replacement takes as
      many inputs as the pattern and gives as many results.
    - Every input of the pattern is used in it, and stands for any node or value.
    - Where matches overlap, the first in the order of the graph is replaced.
    - A module as replacement brings its submodules, parameters and buffers along, as
      copies; what `gm` has at the same path goes first. Submodules that are not used any
      more are removed.
    - When anything is raised, the graph and the module are as they were.

    >>> def pattern(x, y):
    ...     return torch.neg(x) + torch.relu(y)
    >>> def replacement(x, y):
    ...     return torch.relu(y) - x
    >>> matches = replace_pattern(gm, pattern, replacement)
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(one.anchor, one.nodes_map) for one in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    replacement_callback: MakeReplacement | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """`replace_pattern`, where every one of `match_filters` agrees.

    - `ignore_literals` lets the pattern's numbers and other literals match any.
    - `replacement_callback` makes what to put in a place for that place.
    - A node whose name contains `node_name_match` matches any node of the pattern.
    """
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    graph = gm.graph
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(agrees(match, graph, pattern_graph) for agrees in match_filters or ())
    ]
    if replacement is None and replacement_callback is None:
        raise AssertionError(
            "nothing to put in place of the pattern: give a replacement or a"
            " replacement_callback"
        )
    fixed = None if replacement is None else _graph_of(replacement)
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    with Checkpoint(graph), collector.paused():
        rewriting = _Rewriting(gm.graph, pattern_graph)
        template = None
        for match in matches:
            if replacement_callback is not None:
                made = replacement_callback(match, graph, pattern_graph)
                template = _template(made)
            elif template is None and fixed is not None:
                template = _template(fixed)
            rewriting.replace(match, cast("_Template", template))
        if isinstance(replacement, torch.nn.Module):
            replacement_attributes.bring(gm, replacement)
    _refresh(gm, is_changed=bool(matches))
    return rewriting.replaced


@dataclass(frozen=True, slots=True)
class _Template:
    """A replacement, taken apart."""

    inputs: Sequence[Node]
    body: Sequence[Node]
    results: Sequence[Argument]


class _Rewriting:
    """One replacement of all matches, one after the other."""

    def __init__(self, graph: Graph, pattern: Graph) -> None:
        self.replaced: list[ReplacedPatterns] = []
        self._graph = graph
        self._changed: dict[Node, Argument] = {}
        self._inputs = [node for node in pattern.nodes if node.op == "placeholder"]
        self._computed = [
            node for node in pattern.nodes if node.op not in ("placeholder", "output")
        ]

    def replace(self, match: InternalMatch, template: _Template) -> None:
        """Put the replacement in the place of a match."""
        graph = self._graph
        inputs = match.placeholder_nodes
        _check_counts(match, template)
        for place, pattern in enumerate(self._inputs):
            inputs[place] = now = map_references(inputs[place], self._current)
            match.nodes_map[pattern] = now
        returned = [self._current(node) for node in match.returning_nodes]
        values: dict[Node, Argument] = dict(zip(template.inputs, inputs, strict=True))
        with graph.inserting_before(self._place(match, returned)):
            for node in template.body:
                values[node] = graph.node_copy(node, values.__getitem__)
        made = [cast("Node", values[node]) for node in template.body]
        results = [map_references(one, values.__getitem__) for one in template.results]
        _give_origins(match, made, results)
        self._use(returned, results, set(made))
        self._changed.update(zip(match.returning_nodes, results, strict=True))
        for node in reversed(self._computed):
            graph.erase_node(match.nodes_map[node])
        self.replaced.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))

    def _current(self, node: Node) -> Argument:
        """What stands for a node of the graph after the replacements so far."""
        now = self._changed.get(node, node)
        while isinstance(now, Node) and now._erased:
            now = self._changed[now]
        return now

    def _place(self, match: InternalMatch, returned: Sequence[Argument]) -> Node:
        """The node in front of which the replacement goes: the first user of a result.

        It moves behind the inputs when some of them stand behind that user.
        """
        nodes = [node for node in returned if isinstance(node, Node)]
        users = [user for node in nodes for user in node.users]
        if not users:
            place = max(nodes).next if nodes else self._graph._root
            if place is self._graph._root:
                raise AssertionError(
                    "there is no place behind the match to insert the replacement: is the"
                    " pattern just one of its inputs, or the graph without an output?"
                )
            return place
        place = min(users)
        inputs = references(match.placeholder_nodes, EMPTY_KWARGS)
        latest = max(inputs, default=place)
        return place if latest <= place else self._moved(match, nodes, place, latest)

    def _moved(
        self, match: InternalMatch, returned: list[Node], first: Node, latest: Node
    ) -> Node:
        """Move what uses the results, from `first` on, behind `latest`."""
        own = set(match.computed())
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
        self,
        returned: Sequence[Argument],
        results: Sequence[Argument],
        made: set[Node],
    ) -> None:
        """Let the users of each old result use the new one."""
        for old, new in zip(returned, results, strict=True):
            if not isinstance(old, Node) or old is new:
                continue
            # The pattern may return one of its inputs, which the replacement uses.
            if isinstance(new, Node):
                old.replace_all_uses_with(new, lambda user: user not in made)
                continue
            for user in [user for user in old.users if user not in made]:
                user.args = _replaced(user.args, old, new)
                user.kwargs = _replaced(user.kwargs, old, new)


def _graph_of(program: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _template(graph: Graph) -> _Template:
    inputs: list[Node] = []
    body: list[Node] = []
    result: Argument = None
    for node in graph.nodes:
        if node.op == "output":
            result = node.args[0]
            break
        (inputs if node.op == "placeholder" else body).append(node)
    if isinstance(result, Node):
        return _Template(inputs, body, (result,))
    if isinstance(result, dict):
        results = tuple(cast("dict[Any, Argument]", result).values())
        return _Template(inputs, body, results)
    if isinstance(result, tuple | list):
        return _Template(inputs, body, tuple(cast("Sequence[Argument]", result)))
    raise TypeError(
        f"the replacement returns {result!r}, which is computed by no node: it has to"
        " return a value for each result of the pattern"
    )


def _check_counts(match: InternalMatch, template: _Template) -> None:
    inputs, wanted = len(template.inputs), len(match.placeholder_nodes)
    if inputs != wanted:
        raise AssertionError(
            f"the replacement takes {inputs} inputs"
            f" ({', '.join(node.name for node in template.inputs)}) and the pattern"
            f" {wanted}: they must be the same, also where one is not used"
        )
    results, wanted = len(template.results), len(match.returning_nodes)
    if results != wanted:
        raise AssertionError(
            f"the replacement returns {results} values and the pattern {wanted}"
            f" ({', '.join(map(str, match.returning_nodes))}): they must be the same"
        )


def _give_origins(
    match: InternalMatch, made: Sequence[Node], results: Sequence[Argument]
) -> None:
    """Let new nodes come from all matched ones, and from the replacement's own lines.

    A node that gives a result comes from the old result first, the others from the
    anchor's.
    """
    matched = [node._frames for node in sorted(match.computed())]
    anchor = match.nodes_map[match.anchors[0]]._frames
    for node in made:
        node._frames = origin.merge([anchor, *matched, node._frames])
    new_nodes = set(made)
    for old, new in zip(match.returning_nodes, results, strict=True):
        if isinstance(new, Node) and new in new_nodes:
            own = new._frames
            new._frames = origin.merge([old._frames, *matched, own])


def _replaced(argument: Argument, old: Node, new: Argument) -> Argument:
    return map_references(argument, lambda node: new if node is old else node)


def _refresh(gm: GraphModule, *, is_changed: bool) -> None:
    """Recompile where the code is not that of the graph."""
    if not is_changed and not isinstance(type(gm).__dict__["forward"], PendingForward):
        written = gm.graph.python_code("self")
        if written.src == gm.code:
            return
    gm.recompile()
