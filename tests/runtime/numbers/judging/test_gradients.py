"""Who makes gradients wrong is named, also where what is returned is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from fxls.runtime.numbers.judgements import remark_of
from fxls.verdicts.comparison import what
from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    Perceptron,
    aten,
    blamed,
    config,
    nodes,
)

pytestmark = COMPILING


def without_gradient(
    x: torch.Tensor, inplace: bool = False
) -> torch.Tensor:  # as torch has it
    return functional.relu(x.detach()) + 0.5 * (x - x.detach())


def letting_go(graph: Any) -> None:
    for node in nodes(graph, functional.relu):
        node.target = without_gradient


def backend(gm: Any, _inputs: Any) -> Any:
    letting_go(gm.graph)
    gm.recompile()
    return gm.forward


def test_a_pass_before_gradients_is_to_blame_for_gradients_alone(
    numbers: Numbers,
) -> None:
    with config.patch(pre_grad_custom_pass=letting_go):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    (fault,) = found.faults
    assert blamed(fault) == Blamed(
        "pass", "pre-grad", "pre_grad_custom_pass", ("relu",), "functional.relu(out)"
    )
    assert what(fault) == "the gradient of out through relu is wrong"
    assert fault.gradients == (
        "self.first.weight",
        "self.first.bias",
        "self.second.weight",
        "self.second.bias",
    )
    remark = remark_of(fault)
    assert remark.reason.startswith(
        "the pass pre_grad_custom_pass, in graph 0, pre-grad: the gradient of out"
        " through relu is wrong, off by "
    )
    assert computed_in_traced(numbers, fault.computed_by) == {"relu"}


def computed_in_traced(numbers: Numbers, names: Sequence[str]) -> set[str]:
    """What torch says nodes of the traced graph are the backward of."""
    traced = numbers.compilations[0].traced
    assert traced is not None
    metas = [row.node.meta for row in traced.rows if row.name in names]
    assert all(meta["autograd_backward"] for meta in metas)
    return {meta["fwd_source_fn_stack"][-1][0] for meta in metas}


def both_altered(graph: Any) -> None:
    """Alters two nodes, of which one has another gradient."""
    letting_go(graph)
    for node in nodes(graph, functional.gelu):
        node.target = same_gelu


def same_gelu(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x)


def making_new(graph: Any) -> None:
    """Puts nodes of its own in the place of one."""
    for node in nodes(graph, functional.relu):
        (given,) = node.all_input_nodes
        with graph.inserting_before(node):
            still = graph.call_method("detach", (given,))
            active = graph.call_function(functional.relu, (still,))
            nothing = graph.call_function(torch.sub, (given, still))
            made = graph.call_function(torch.add, (active, nothing))
        node.replace_all_uses_with(made)
        graph.erase_node(node)


def test_of_several_altered_nodes_the_one_is_named_whose_gradient_is_wrong(
    numbers: Numbers,
) -> None:
    with config.patch(pre_grad_custom_pass=both_altered):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    (fault,) = found.faults
    assert blamed(fault).nodes == ("relu",)
    assert what(fault) == "the gradient of out through relu is wrong"


def test_nodes_that_a_pass_made_have_the_place_of_what_they_replace(
    numbers: Numbers,
) -> None:
    with config.patch(pre_grad_custom_pass=making_new):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    (fault,) = found.faults
    assert blamed(fault) == Blamed(
        *("pass", "pre-grad", "pre_grad_custom_pass"),
        *(("detach", "relu_1", "sub", "add_1"), "functional.relu(out)"),
    )
    assert all(one.is_instead for one in fault.where)
    assert what(fault) == (
        "the gradient of out through one of detach, relu_1, sub, add_1 is wrong"
    )


def test_a_wrong_node_of_a_backward_is_said_to_be_of_one(numbers: Numbers) -> None:
    def wrong(graph: Any) -> None:
        (where,) = nodes(graph, aten.where.self)
        where.args = (where.args[0], where.args[2], where.args[1])

    with config.patch(joint_custom_post_pass=wrong):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    fault = found.faults[0]
    assert what(fault) == "where is wrong, in the backward of relu"
    assert fault.gradients == (
        "self.first.weight",
        "self.first.bias",
        "self.second.weight",
        "self.second.bias",
    )
    assert blamed(fault).code == "functional.relu(out)"


def test_a_backend_is_to_blame_for_gradients_alone(numbers: Numbers) -> None:
    answer = numbers.first(Perceptron(), torch.randn(4, 8), backend=backend)

    assert answer == Blamed("backend", "", "backend", ("relu",), "functional.relu(out)")


def test_gradients_that_nobody_asks_for_are_nobodys_fault(numbers: Numbers) -> None:
    found = numbers.of(Perceptron(), torch.randn(4, 8), backend=backend, backward=False)

    assert found.faults == ()


def dropping(x: torch.Tensor) -> torch.Tensor:
    first = functional.dropout(x, 0.3)
    return first * functional.relu(x) + functional.dropout(x * 2, 0.3)


def test_who_draws_in_another_order_is_not_blamed_for_gradients(
    numbers: Numbers,
) -> None:
    def turning_around(graph: Any) -> None:
        drops = nodes(graph, functional.dropout)
        (times,) = drops[1].all_input_nodes
        drops[0].prepend(times)
        drops[0].prepend(drops[1])

    with config.patch(pre_grad_custom_pass=turning_around):
        found = numbers.of(dropping, torch.randn(4, 8, requires_grad=True))

    assert found.faults == ()


def test_gradients_of_a_backend_that_shows_no_graph_are_not_said_to_be_right(
    numbers: Numbers,
) -> None:
    def hiding(gm: Any, _inputs: Any) -> Any:
        def run(*inputs: Any) -> Any:
            return [0.5 * one + 0.5 * one.detach() for one in gm.forward(*inputs)]

        return run

    found = numbers.of(Perceptron(), torch.randn(4, 8), backend=hiding)

    assert found.faults == ()
    assert not found.is_clear
    assert [(one.what, one.why) for one in found.unseen] == [
        ("gradients", "nobody sees the graph that hiding runs")
    ]
