"""A function of the user's is asked of each graph that a step of the compiler left."""

from __future__ import annotations

from typing import Any

import torch

from fxls.runtime import installing
from fxls.runtime.numbers.bisecting import bisected
from fxls.verdicts.bisection import FirstBad
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    config,
    nodes,
)

pytestmark = COMPILING


def kept() -> Any:
    installation = installing.current()
    assert installation is not None
    assert installation.numbers is not None
    return installation.numbers.compilations


def test_the_pass_is_named_and_each_graph_computes_what_it_did(
    numbers: Numbers,
) -> None:
    x = torch.randn(4, 8)
    model = Perceptron().requires_grad_(False)
    eager = model(x).detach()

    def wrong(graph: Any) -> None:
        for node in nodes(graph, aten.relu.default):
            node.target = aten.neg.default

    with config.patch(post_grad_custom_post_pass=wrong):
        numbers.run(model, x, backward=False)
    seen: list[bool] = []

    def is_right(gm: Any, inputs: Any) -> None:
        seen.append(True)
        out = gm(*inputs)[0]
        gm.graph.lint()
        inputs[0].zero_()  # they are copies
        if not any_torch.allclose(out, eager, atol=1e-4):
            raise AssertionError("too far")  # as it is where pytest rewrites nothing

    found = bisected(kept(), is_right)

    assert found.untested == ()
    assert found.found == (
        FirstBad(
            *("0/0", "graph 0, forward, post-grad", "post_grad_custom_post_pass"),
            *(1, "AssertionError: too far"),
        ),
    )
    assert found.tested == len(seen)
    assert len(seen) > 2


def test_the_backward_is_asked_about_as_well(numbers: Numbers) -> None:
    def wrong(graph: Any) -> None:
        if any(node.name.startswith("tangents") for node in graph.nodes):
            nodes(graph, aten.mul.Tensor)[0].target = aten.div.Tensor

    with config.patch(post_grad_custom_post_pass=wrong):
        numbers.run(Perceptron(), torch.randn(4, 8))

    def divides_nothing(gm: Any, _inputs: Any) -> bool:
        return "aten.div." not in gm.code

    (found,) = bisected(kept(), divides_nothing).found

    assert (found.stage, found.name) == (
        *("graph 0, backward, post-grad", "post_grad_custom_post_pass"),
    )
    assert found.reason == "it returned False"
