"""Replacing every place in a graph that looks like a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import torch

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule, PendingForward
from fxls.engine.ir import gc_pause
from fxls.engine.ir.arguments import Argument
from fxls.engine.ir.checkpoint import Checkpoint
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node
from fxls.engine.late_names import late_names
from fxls.engine.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from fxls.engine.rewriting import attributes as replacement_attributes
from fxls.engine.rewriting.replace import Replacement, Rewriting

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
    replaced = _replace_pattern(gm, pattern, replacement)
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
    options = _Options(
        tuple(match_filters or ()),
        ignore_literals,
        replacement_callback,
        node_name_match,
    )
    return _replace_pattern(gm, pattern, replacement, options)


class _Options(NamedTuple):
    """What may be said of a replacement besides its graphs."""

    filters: tuple[MatchFilter, ...] = ()
    ignores_literals: bool = False
    callback: MakeReplacement | None = None
    part_of_name: str = ""


def _replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None,
    options: _Options = _Options(),  # noqa: B008 - it cannot be changed
) -> list[ReplacedPatterns]:
    """What both do; programs hold those two, and this one can be watched."""
    refuse_foreign(gm)
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=options.ignores_literals)
    graph = gm.graph
    matches = [
        match
        for match in matcher.match(graph, options.part_of_name)
        if all(agrees(match, graph, pattern_graph) for agrees in options.filters)
    ]
    if replacement is None and options.callback is None:
        raise AssertionError(
            "nothing to put in place of the pattern: give a replacement or a"
            " replacement_callback"
        )
    fixed = None if replacement is None else _graph_of(replacement)
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    replaced: list[ReplacedPatterns] = []
    with gc_pause.paused(), Checkpoint(graph):
        rewriting = Rewriting(graph, pattern_graph)
        by: Replacement | None = None
        for match in matches:
            if options.callback is not None:
                by = Replacement.of(options.callback(match, graph, pattern_graph))
            elif by is None:
                by = Replacement.of(cast("Graph", fixed))
            made = rewriting.replace(match, by)
            replaced.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
        if isinstance(replacement, torch.nn.Module):
            replacement_attributes.copy_missing(gm, replacement)
        elif not isinstance(replacement, Graph) and fixed is not None:
            new = [node for one in replaced for node in one.replacements]
            replacement_attributes.copy_constants(gm, fixed, new)
    _refresh(gm, is_changed=bool(matches))
    return replaced


def _graph_of(program: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _refresh(gm: GraphModule, *, is_changed: bool) -> None:
    """Recompile where the code is not that of the graph."""
    if not is_changed and not isinstance(type(gm).__dict__["forward"], PendingForward):
        written = gm.graph.python_code("self")
        if written.src == gm.code:
            return
    gm.recompile()


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
