"""The passes of inductor, and those that a user gives to it, each as a revision."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fxls.listing import Listing
from fxls.record import Pass, RevisionName
from fxls.record.first_pass import Asked, Found, Question, first_passes
from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.passes.watching import passes_alone

any_torch: Any = torch
aten: Any = any_torch.ops.aten
AOT = "torch._functorch._aot_autograd"
config: Any = importlib.import_module("torch._inductor.config")
compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")

pytestmark = [
    pytest.mark.slow,
    # torch's own, with Inductor: it uses names of torch that it means to remove.
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    utils: Any = importlib.import_module("torch._inductor.utils")
    any_torch.compiler.reset()
    with utils.fresh_cache():
        yield
    any_torch.compiler.reset()


class Sums(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = x.sin() + 1.5
        b = (y.cos() - a) * 3.0
        return (b + a + 2.5).relu()


def call(graph: Any, target: Any, constant: object = None) -> Any:
    """The node that calls a target, with a constant as second argument if one is given."""
    return next(
        node
        for node in graph.nodes
        if node.target is target and (constant is None or node.args[1] == constant)
    )


def removes_an_addition(graph: Any) -> None:
    node = call(graph, aten.add.Tensor, 2.5)
    node.replace_all_uses_with(node.args[0])
    graph.erase_node(node)


def swaps_two_arguments(graph: Any) -> None:
    node = call(graph, aten.sub.Tensor)
    node.args = node.args[::-1]


def moves_a_node(graph: Any) -> None:
    call(graph, aten.sin.default).prepend(call(graph, aten.cos.default))


def read(store: Store, name: RevisionName) -> Listing:
    return store.read(store.root / name.text)


def asked(store: Store, passes: list[Pass], kind: Asked, what: str) -> Found:
    answer = first_passes(passes, Question(kind, what), lambda one: read(store, one))
    assert (answer.unread, answer.is_known) == (0, True)
    (found,) = answer.found
    return found


def test_each_pass_that_was_planted_is_found_by_what_it_did(
    store: Store, noted: list[Pass]
) -> None:
    planted = {
        "post_grad_custom_post_pass": removes_an_addition,
        "joint_custom_post_pass": swaps_two_arguments,
        "post_grad_custom_pre_pass": moves_a_node,
    }
    with config.patch(planted), torch.no_grad():
        x, y = torch.ones(3), torch.zeros(3)
        made = any_torch.compile(Sums(), backend=passes_alone)(x, y)
    a = x.sin() + 1.5
    assert torch.allclose(made, ((a - y.cos()) * 3.0 + a).relu())
    finish()
    gone = asked(store, noted, Asked.GONE, "add_2")
    assert (gone.ran.name, gone.ran.stage, gone.ran.compilation) == (
        "post_grad_custom_post_pass",
        "graph 0, forward, post-grad",
        "0/0",
    )
    assert gone.reason == "is replaced by add_1"
    assert gone.place is not None
    line = (
        Path(gone.place.path)
        .read_text("utf-8")
        .splitlines()[gone.place.span.start.line]
    )
    assert line.strip() == "return (b + a + 2.5).relu()"
    swapped = asked(store, noted, Asked.ALTERED, "sub")
    assert (swapped.ran.name, swapped.ran.stage) == (
        "joint_custom_post_pass",
        "graph 0, joint",
    )
    assert swapped.reason == "has (add, cos) and not (cos, add)"
    moved = asked(store, noted, Asked.MOVED, "cos")
    assert moved.ran.name == "post_grad_custom_pre_pass"
    assert moved.reason == "stands before sin"
    # The planted ones, and nothing that inductor does to such a model by itself.
    assert [one.name for one in noted if one.changed] == [
        "joint_custom_post_pass",
        "post_grad_custom_pre_pass",
        "post_grad_custom_post_pass",
    ]


def test_a_pass_that_raises_is_in_the_record_with_its_graph(
    store: Store, noted: list[Pass]
) -> None:
    def fails(graph: Any) -> None:
        swaps_two_arguments(graph)
        raise KeyError("lost")

    with (
        config.patch({"post_grad_custom_post_pass": fails}),
        torch.no_grad(),
        pytest.raises(Exception, match="lost"),
    ):
        any_torch.compile(Sums(), backend=passes_alone)(torch.ones(3), torch.ones(3))
    finish()
    failed = noted[-1]
    assert (failed.name, failed.raised) == (
        "post_grad_custom_post_pass",
        "KeyError: 'lost'",
    )
    assert failed.after is not None
    assert "sub.Tensor(add, cos)" in read(store, failed.after).text


def test_a_sort_between_two_passes_has_a_name_and_the_disorder_its_pass(
    store: Store, noted: list[Pass]
) -> None:
    def disorders(graph: Any) -> None:
        call(graph, aten.sin.default).prepend(call(graph, aten.sub.Tensor))

    with config.patch({"joint_custom_post_pass": disorders}), torch.no_grad():
        x, y = torch.ones(3), torch.zeros(3)
        made = any_torch.compile(Sums(), backend=passes_alone)(x, y)
    assert torch.allclose(made, Sums()(x, y))
    finish()
    joint = [one for one in noted if one.changed and one.stage == "graph 0, joint"]
    assert [(one.name, one.altered.first) for one in joint] == [
        ("joint_custom_post_pass", ("sub",)),
        ("stable_topological_sort", ("sub",)),
    ]
    broken = asked(store, noted, Asked.BROKEN, "")
    assert broken.ran.name == "joint_custom_post_pass"
    assert broken.reason == "uses cos before that is made"


def test_a_pass_names_the_patterns_that_it_found_and_their_lines(
    store: Store, noted: list[Pass]
) -> None:
    assert store
    matcher: Any = importlib.import_module("torch._inductor.pattern_matcher")
    mine = matcher.PatternMatcherPass("mine")
    sine: Any = matcher.CallFunction(aten.sin.default, matcher.Arg())

    @matcher.register_graph_pattern(sine, pass_dict=mine)
    def not_sine(match: Any, x: Any) -> None:
        (node,) = match.nodes
        node.replace_all_uses_with(match.graph.call_function(aten.tan.default, (x,)))
        match.erase_nodes()

    def looked_for(x: Any) -> Any:
        return aten.relu.default(x)

    def put(x: Any) -> Any:
        return aten.abs.default(x)

    assert not_sine
    with torch.no_grad():
        given = [torch.ones(3)]
        matcher.register_replacement(looked_for, put, given, matcher.fwd_only, mine)
        x, y = torch.ones(3), torch.zeros(3)
        with config.patch({"post_grad_custom_post_pass": mine.apply}):
            made = any_torch.compile(Sums(), backend=passes_alone)(x, y)
    a = x.tan() + 1.5
    assert torch.allclose(made, ((y.cos() - a) * 3.0 + a + 2.5).abs())
    (ran,) = [one for one in noted if one.name == "mine" and one.changed]
    assert ran.under == ("post_grad_custom_post_pass",)
    assert {
        (one.name, one.count, one.place and (one.place.place.path, one.place.line))
        for one in ran.patterns
    } == {
        (
            "not_sine",
            1,
            (
                __file__,
                "    @matcher.register_graph_pattern(sine, pass_dict=mine)",
            ),
        ),
        ("looked_for", 1, (__file__, "    def looked_for(x: Any) -> Any:")),
    }
