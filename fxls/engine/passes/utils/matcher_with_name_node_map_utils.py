"""Matching by a pattern that gives names to its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from fxls.engine.ir.node import Node
from fxls.engine.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from fxls.engine.torch_private import pytree

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.graph_module import GraphModule

__all__ = ["SubgraphMatcherWithNameNodeMap"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A `SubgraphMatcher` whose matches have `name_node_map`: name to node of the graph.

    The pattern returns, behind its results, a dict from names to its nodes. The dict is
    taken out of the module that is given, which then returns the results alone.

    >>> def pattern(x, weight):
    ...     conv = torch.conv2d(x, weight)
    ...     relu = torch.relu(conv)
    ...     return relu, {"conv": conv, "relu": relu}
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        match_placeholder: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        remove_overlapping_matches: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        ignore_literals: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        _, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(
            pattern_gm.graph,
            match_output,
            match_placeholder,
            remove_overlapping_matches,
            ignore_literals,
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches in a graph, each with the nodes that the pattern names."""
        matches = super().match(graph, node_name_match)
        for match in matches:
            match.name_node_map.update(
                (name, match.nodes_map[node])
                for name, node in self.name_node_map.items()
            )
        return matches


def _split_to_graph_and_name_node_map(
    gm: GraphModule,
) -> tuple[GraphModule, dict[str, Node]]:
    """A pattern that returns its results alone, and the names that it gives its nodes."""
    output = gm.graph.output_node()
    spec = getattr(gm, "_out_spec", None)
    if spec is None:
        raise AssertionError(
            "the pattern does not say how its results are nested (it has no _out_spec):"
            " take it from torch.export, or trace it with nested results"
        )
    results = pytree.tree_unflatten(output.args[0], spec)
    if not isinstance(results, tuple) or len(cast("tuple[Any, ...]", results)) < 2:
        raise AssertionError(
            "the pattern has to return at least two values, the last a dict from names"
            f" to nodes; it returns {results!r}"
        )
    *own, names = cast("tuple[Any, ...]", results)
    if not isinstance(names, dict):
        raise AssertionError(
            "the last value that the pattern returns has to be a dict from names to"
            f" nodes; it is {names!r}"
        )
    leaves, spec = pytree.tree_flatten(own)
    output.args = (leaves,)
    codegen: Any = gm.graph._codegen
    codegen.pytree_info = codegen.pytree_info._replace(out_spec=spec)
    gm.recompile()
    return gm, cast("dict[str, Node]", names)
