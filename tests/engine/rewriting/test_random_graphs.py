"""Random graphs, patterns and replacements: both systems do the same.

Where torch.fx leaves a graph in which a value is used before it is computed, ours must
be well-formed; what it computes is compared where both can be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.fx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch.fx import subgraph_rewriter as theirs
from torch.fx.passes.utils import matcher_utils as their_matcher

from fxls.engine import subgraph_rewriter as ours
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.passes.utils import matcher_utils as our_matcher

OPERATIONS: dict[str, tuple[Any, int]] = {
    "relu": (torch.relu, 1),
    "neg": (torch.neg, 1),
    "add": (torch.add, 2),
    "sub": (torch.sub, 2),
}


@dataclass(frozen=True)
class Step:
    """A call; an argument is the place of a value, or a literal as text."""

    operation: str
    arguments: tuple[int | str, ...]


@dataclass(frozen=True)
class Spec:
    """A graph that both systems can be made to hold."""

    inputs: int
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def built(self, kind: Any) -> Any:
        graph = kind()
        values = [graph.placeholder(f"x{i}") for i in range(self.inputs)]
        for step in self.steps:
            arguments = tuple(
                int(one) if isinstance(one, str) else values[one]
                for one in step.arguments
            )
            function = OPERATIONS[step.operation][0]
            values.append(graph.call_function(function, arguments))
        results = [values[i] for i in self.results]
        graph.output(results[0] if len(results) == 1 else tuple(results))
        return graph

    def is_alive(self) -> bool:
        """Whether every value is used; matchers refuse other patterns."""
        used = set(self.results)
        for step in self.steps:
            used.update(one for one in step.arguments if isinstance(one, int))
        return used == set(range(self.inputs + len(self.steps)))


@st.composite
def steps(draw: st.DrawFn, inputs: int, least: int, most: int) -> tuple[Step, ...]:
    made: list[Step] = []
    for place in range(inputs, inputs + draw(st.integers(least, most))):
        operation = draw(st.sampled_from(sorted(OPERATIONS)))
        count = OPERATIONS[operation][1]
        last = place - 1
        # The latest values more often: long chains, in which patterns meet.
        value = st.integers(0, last) | st.integers(max(0, last - 2), last)
        arguments: list[int | str] = [draw(value)]
        if count == 2:
            arguments.append(draw(value | value | st.sampled_from(["1", "2"])))
        made.append(Step(operation, tuple(arguments)))
    return tuple(made)


@st.composite
def programs(draw: st.DrawFn) -> Spec:
    inputs = draw(st.integers(1, 2))
    made = draw(steps(inputs, 2, 14))
    places = st.integers(0, inputs + len(made) - 1)
    results = draw(st.lists(places, min_size=1, max_size=2))
    return Spec(inputs, made, (*results, inputs + len(made) - 1))


@st.composite
def patterns(draw: st.DrawFn) -> Spec:
    inputs = draw(st.integers(1, 2))
    made = draw(steps(inputs, 1, 4))
    last = inputs + len(made) - 1
    results = {draw(st.integers(inputs, last)), last}
    return Spec(inputs, made, tuple(draw(st.permutations(sorted(results)))))


@st.composite
def rewritings(draw: st.DrawFn) -> tuple[Spec, Spec, Spec]:
    pattern = draw(patterns().filter(Spec.is_alive))
    made = draw(steps(pattern.inputs, 0, 3))
    places = st.integers(0, pattern.inputs + len(made) - 1)
    count = len(pattern.results)
    results = draw(st.lists(places, min_size=count, max_size=count))
    return draw(programs()), pattern, Spec(pattern.inputs, made, tuple(results))


def matches_of(replaced: Any) -> Any:
    return [
        (
            one.anchor.name,
            {key.name: str(value) for key, value in one.nodes_map.items()},
            [node.name for node in one.replacements],
        )
        for one in replaced
    ]


def their_result(
    program: Spec, pattern: Spec, replacement: Spec, options: dict[str, Any]
) -> Any:
    """What torch.fx makes; None where it raises."""
    gm = torch.fx.GraphModule(torch.nn.Module(), program.built(torch.fx.Graph))
    try:
        replaced = theirs.replace_pattern_with_filters(
            gm,
            pattern.built(torch.fx.Graph),
            replacement.built(torch.fx.Graph),
            **options,
        )
    except (KeyError, AssertionError, TypeError, AttributeError, RuntimeError):
        return None
    return gm, matches_of(replaced)


def is_well_formed(graph: Any) -> bool:
    try:
        graph.lint()
    except RuntimeError:
        return False
    return True


@pytest.mark.slow
@given(rewritings(), st.booleans())
@settings(
    max_examples=400,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_patterns_are_replaced_alike(
    case: tuple[Spec, Spec, Spec], ignores: bool
) -> None:
    program, pattern, replacement = case
    options: dict[str, Any] = {"ignore_literals": ignores}
    expected = their_result(program, pattern, replacement, options)
    gm = GraphModule(torch.nn.Module(), program.built(Graph))
    before = str(gm.graph)
    try:
        replaced = ours.replace_pattern_with_filters(
            gm, pattern.built(Graph), replacement.built(Graph), **options
        )
    except AssertionError:
        assert expected is None
        assert str(gm.graph) == before
        return
    gm.graph.lint()
    if expected is None or not is_well_formed(expected[0].graph):
        return
    assert (str(gm.graph), gm.code, matches_of(replaced)) == (
        str(expected[0].graph),
        expected[0].code,
        expected[1],
    )


@pytest.mark.slow
@given(programs(), patterns().filter(Spec.is_alive), st.booleans(), st.booleans())
@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_matches_are_found_alike(
    program: Spec, pattern: Spec, removes: bool, placeholders: bool
) -> None:
    options: dict[str, Any] = {
        "remove_overlapping_matches": removes,
        "match_placeholder": placeholders,
    }

    def found(module: Any, kind: Any) -> Any:
        matcher = module.SubgraphMatcher(pattern.built(kind), **options)
        return [
            {key.name: str(value) for key, value in match.nodes_map.items()}
            for match in matcher.match(program.built(kind))
        ]

    try:
        expected = found(their_matcher, torch.fx.Graph)
    except KeyError:  # a result of the pattern that has no candidate at all
        expected = []
    assert found(our_matcher, Graph) == expected


@pytest.mark.slow
@given(programs(), programs())
@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_a_graph_matches_itself_alone(first: Spec, second: Spec) -> None:
    assume(first.is_alive() and second.is_alive())

    def is_equal(module: Any, kind: Any) -> bool:
        left, right = first.built(kind), second.built(kind)
        matcher = module.SubgraphMatcher(
            left, match_output=True, match_placeholder=True
        )
        assert matcher.match(first.built(kind))
        return bool(matcher.match(right))

    assert is_equal(our_matcher, Graph) == is_equal(their_matcher, torch.fx.Graph)
