"""A wrong value counts where something else is returned, written or raised because of it."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.verdicts.comparison import Fault
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

common: Any = importlib.import_module("torch._dynamo.backends.common")
make_boxed: Any = importlib.import_module("functorch.compile").make_boxed_func
POST_GRAD = ("pass", "forward, post-grad", "post_grad_custom_post_pass")


class Averaging(nn.Module):
    """What it overwrites, it returns nowhere."""

    average: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.average.add_(x.mean(0) * 0.1)
        return torch.sigmoid(x)


class Dropped(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        active = torch.sigmoid(x)
        return functional.dropout(active, 0.3)


def changes(target: Any, at: int, to: Any) -> Any:
    """A pass that gives the first node which calls something another argument."""

    def wrong(graph: Any) -> None:
        for node in nodes(graph, target)[:1]:
            node.args = (*node.args[:at], to, *node.args[at + 1 :])

    return wrong


def test_what_is_written_into_a_buffer_counts_as_what_is_returned(
    numbers: Numbers,
) -> None:
    wrong = changes(aten.mul.Tensor, 1, 0.2)

    with config.patch(post_grad_custom_post_pass=wrong):
        answer = numbers.first(Averaging(), torch.randn(4, 8), backward=False)

    assert answer == Blamed(*POST_GRAD, ("mul",), "x.mean(0) * 0.1")


def test_a_buffer_that_is_not_written_any_more_is_the_fault_of_who_dropped_that(
    numbers: Numbers,
) -> None:
    def wrong(graph: Any) -> None:
        (copy,) = nodes(graph, aten.copy_.default)
        graph.erase_node(copy)

    with config.patch(post_grad_custom_post_pass=wrong):
        answer = numbers.first(Averaging(), torch.randn(4, 8), backward=False)

    assert answer[:4] == (*POST_GRAD, ("copy_",))


@pytest.mark.parametrize(
    ("target", "at", "node"),
    [(aten.sigmoid.default, 0, "sigmoid"), (aten.native_dropout.default, 1, "native")],
)
def test_a_value_counts_that_random_numbers_hide(
    target: Any, at: int, node: str, numbers: Numbers
) -> None:
    def wrong(graph: Any) -> None:
        (found,) = nodes(graph, target)
        if at:
            found.args = (found.args[0], 0.6, *found.args[2:])
        else:
            found.target = aten.tanh.default

    with config.patch(post_grad_custom_pre_pass=wrong, fallback_random=True):
        answer = numbers.first(Dropped(), torch.randn(4, 8), backward=False)

    assert answer[:3] == ("pass", "forward, post-grad", "post_grad_custom_pre_pass")
    assert len(answer.nodes) == 1
    assert answer.nodes[0].startswith(node)


def test_another_probability_counts_before_gradients_as_well(numbers: Numbers) -> None:
    wrong = changes(functional.dropout, 1, 0.6)

    with config.patch(pre_grad_custom_pass=wrong):
        answer = numbers.first(Dropped(), torch.randn(64, 8), backward=False)

    assert answer[:4] == ("pass", "pre-grad", "pre_grad_custom_pass", ("dropout",))


def test_a_pass_that_switches_dropout_off_is_named(numbers: Numbers) -> None:
    wrong = changes(functional.dropout, 2, False)  # as torch's is

    with config.patch(pre_grad_custom_pass=wrong):
        found = numbers.of(Dropped(), torch.randn(4, 8), backward=False)

    assert [fault.name for fault in found.faults] == ["pre_grad_custom_pass"]


def test_a_name_that_another_value_got_is_not_blamed_for_the_wrong_one(
    numbers: Numbers,
) -> None:
    def names_again(graph: Any) -> None:
        """`relu` becomes another value of the same shape, which changes nothing."""
        (relu,) = nodes(graph, aten.relu.default)
        (add,) = nodes(graph, aten.add.Tensor)[-1:]
        relu.name, add.name = "old_relu", "other"
        with graph.inserting_before(add):
            new = graph.call_function(aten.neg.default, (add.args[0],), name="relu")
            again = graph.call_function(aten.neg.default, (new,))
        add.args = (again, add.args[1])
        add.target = aten.sub.Tensor

    with config.patch(post_grad_custom_post_pass=names_again):
        fault = numbers.of(Perceptron(), torch.randn(4, 8), backward=False).faults[0]

    assert blamed(fault)[:3] == POST_GRAD
    assert "other" in [where.node for where in fault.where]


def raised(numbers: Numbers) -> Fault:
    with pytest.raises(Exception, match=r"shapes|reduction dim") as error:
        numbers.run(Perceptron(), torch.randn(4, 8))
    (fault,) = numbers.found(repr(error.value)).faults
    return fault


@pytest.mark.parametrize(
    ("hook", "stage"),
    [
        ("joint_custom_post_pass", "joint"),
        ("post_grad_custom_post_pass", "forward, post-grad"),
    ],
)
def test_a_pass_is_to_blame_for_what_raises_behind_it(
    hook: str, stage: str, numbers: Numbers
) -> None:
    wrong = changes(aten.permute.default, 1, [0, 1])

    with config.patch({hook: wrong}):
        fault = raised(numbers)

    assert blamed(fault)[:4] == ("pass", stage, hook, ("permute",))
    assert fault.confirmed.startswith(
        "the graph before it runs, and the graph behind it raises at addmm"
    )


def test_a_pass_is_to_blame_for_a_gradient_of_another_shape(numbers: Numbers) -> None:
    def wrong(graph: Any) -> None:
        *_, total = nodes(graph, aten.sum.dim_IntList)
        (view,) = total.users
        view.replace_all_uses_with(total)

    with config.patch(joint_custom_post_pass=wrong):
        fault = numbers.of(Perceptron(), torch.randn(4, 8)).faults[0]

    assert blamed(fault)[:3] == ("pass", "joint", "joint_custom_post_pass")
    assert fault.evidence.reason == "it has the shape (1, 16), and should have (16,)"


class Centred(nn.Module):
    """Its gradient needs what the buffer was before it is overwritten."""

    average: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x * self.average.cos()
        with torch.no_grad():
            self.average.add_(x.mean(0))
        return torch.tanh(hidden) * hidden


def test_an_input_that_is_overwritten_before_the_backward_reads_it_is_a_fault(
    numbers: Numbers,
) -> None:
    """Torch's own fault: inductor computes from the buffer again what it did not save."""
    model, x = Centred(), torch.randn(4, 8, requires_grad=True)

    found = numbers.of(model, x)

    saved = [one for one in found.faults if one.name == "partition"]
    assert len(saved) == 1
    assert blamed(saved[0])[:3] == ("partition", "backward", "partition")
    assert "before the backward reads it" in saved[0].confirmed


def test_a_function_that_changes_its_inputs_is_compared_as_a_whole(
    numbers: Numbers,
) -> None:
    def counting(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        count.add_(1.0)
        return torch.sigmoid(x * count)

    def scaling(gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            return [out * 1.01 for out in gm(*args)]

        return run

    def right(gm: Any, _inputs: Any) -> Any:
        return functools.partial(gm.forward)

    x, count = torch.randn(4, 8), torch.zeros(8)
    (fault,) = numbers.of(counting, x, count, backend=scaling).faults
    numbers.forget()
    found = numbers.of(counting, x, count, backend=right)

    assert blamed(fault) == Blamed("backend", "", "scaling", (), "")
    assert found.faults == ()
    assert found.unseen == ()


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16])
def test_a_mask_that_is_left_out_is_named(half: Any, numbers: Numbers) -> None:
    def masked(x: torch.Tensor) -> torch.Tensor:
        keep = torch.ones(8, 8, dtype=torch.bool).tril()
        scores = (x @ x.transpose(-2, -1)).masked_fill(~keep, float("-inf"))
        return scores.softmax(-1) @ x

    def leaves_out(graph: Any) -> None:
        for node in nodes(graph, aten.where.self):
            node.replace_all_uses_with(node.args[2])
            graph.erase_node(node)

    drawn = torch.Generator().manual_seed(0)  # of some the mask hides next to nothing
    x: Any = torch.randn(2, 8, 8, generator=drawn)
    with config.patch(joint_custom_post_pass=leaves_out):
        found = numbers.first(masked, x.type(half))

    assert found[:3] == ("pass", "joint", "joint_custom_post_pass")
    assert found.nodes == ("where",)


def test_a_constant_in_bfloat16_is_named_in_few_elements(numbers: Numbers) -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x.sin() * 1.5

    def other(graph: Any) -> None:
        for node in nodes(graph, aten.mul.Tensor):
            node.args = (node.args[0], 1.8)

    x = torch.randn(4, 4).bfloat16()
    with config.patch(post_grad_custom_post_pass=other):
        found = numbers.first(scaled, x)

    assert (found.name, found.code) == ("post_grad_custom_post_pass", "x.sin() * 1.5")


# -- values of other kinds -----------------------------------------------------------------


def of_dtype(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dtype=torch.float32) * 1.0


def sums_in_bfloat16(graph: Any) -> None:
    (total,) = nodes(graph, "sum")
    total.kwargs = {"dtype": torch.bfloat16}


def of_complex(x: torch.Tensor) -> torch.Tensor:
    return x.conj() * x * x


def drops_conjugation(graph: Any) -> None:
    (conj,) = nodes(graph, "conj")
    conj.replace_all_uses_with(conj.args[0])
    graph.erase_node(conj)


@pytest.mark.parametrize(
    ("function", "wrong", "given", "node"),
    [
        (of_dtype, sums_in_bfloat16, torch.ones(40).bfloat16(), "sum_1"),
        (of_complex, drops_conjugation, torch.randn(4, 4, dtype=torch.cfloat), "conj"),
    ],
    ids=["another dtype is returned", "complex numbers"],
)
def test_values_of_each_kind_are_judged(
    function: Any, wrong: Any, given: torch.Tensor, node: str, numbers: Numbers
) -> None:
    with config.patch(pre_grad_custom_pass=wrong):
        answer = numbers.first(function, given, backward=False)

    assert answer[:4] == ("pass", "pre-grad", "pre_grad_custom_pass", (node,))


def test_complex_numbers_may_be_rounded_otherwise(numbers: Numbers) -> None:
    given = torch.randn(16, 16, dtype=torch.cfloat)

    def squared(x: torch.Tensor) -> torch.Tensor:
        return x @ x.conj()

    found = numbers.of(squared, given, backward=False)

    assert found.faults == ()
    assert found.is_clear, found.unseen
