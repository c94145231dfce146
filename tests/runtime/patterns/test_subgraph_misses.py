"""Near misses in random graphs: torch.fx's own matcher is the oracle of each."""

from __future__ import annotations

from typing import Any

import pytest
import torch.fx
from hypothesis import HealthCheck, given, settings
from torch.fx.passes.utils import matcher_utils as theirs

from fxls.engine.graph import Graph
from fxls.engine.passes.utils import matcher_utils as ours
from fxls.runtime.patterns.subgraph_misses import misses
from tests.engine.rewriting.test_random_graphs import Spec, patterns, programs

pytestmark = pytest.mark.slow

OUTSIDE = "outside of the pattern"
OTHER = "is a part of another match"


def said(utils: Any, kind: Any, program: Spec, pattern: Spec) -> Any:
    """The matches of a pattern, and for each other node at which it might end, why not."""
    graph = program.built(kind)
    matcher = utils.SubgraphMatcher(pattern.built(kind))
    try:
        found = matcher.match(graph)
    except (KeyError, AssertionError):
        return None
    near = {one.node.name: one for one in misses(matcher, graph, found)}
    return graph, matcher, found, near


@given(programs(), patterns().filter(Spec.is_alive))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_node_is_a_near_miss_for_the_reason_that_torch_refuses_it(
    program: Spec, pattern: Spec
) -> None:
    asked = said(theirs, torch.fx.Graph, program, pattern)
    if asked is None or len(asked[1].pattern_anchors) != 1:
        return
    graph, matcher, found, near = asked
    (anchor,) = matcher.pattern_anchors
    ends = {one.nodes_map[anchor].name for one in found}
    for node in graph.nodes:
        if not matcher._nodes_are_equal(anchor, node):
            assert node.name not in near
            continue
        if node.name in ends:
            assert node.name not in near
            continue
        match = theirs.InternalMatch(anchors=[anchor])
        reason = near[node.name].reason if node.name in near else ""
        if not matcher._match_nodes(anchor, node, match):
            assert reason
            assert not reason.endswith((OUTSIDE, OTHER))
        elif not matcher._is_contained(match.nodes_map):
            assert reason.endswith(OUTSIDE)
        else:
            # Where it would use what it computes, nothing is said.
            assert reason == "" or reason.endswith(OTHER)


@given(programs(), patterns().filter(Spec.is_alive))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_graph_of_the_engine_has_the_near_misses_that_one_of_torch_has(
    program: Spec, pattern: Spec
) -> None:
    our = said(ours, Graph, program, pattern)
    their = said(theirs, torch.fx.Graph, program, pattern)
    if our is None or their is None or len(our[2]) != len(their[2]):
        return  # torch.fx has faults of its own there
    assert {
        name: (one.blocking.name, one.reason, one.score) for name, one in our[3].items()
    } == {
        name: (one.blocking.name, one.reason, one.score)
        for name, one in their[3].items()
    }
