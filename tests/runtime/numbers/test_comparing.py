"""Who makes numbers wrong is named: backend, pass or decomposition, node and expression."""

from __future__ import annotations

import gc
import importlib
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.runtime.numbers.looking import (
    COMPILING,
    Attention,
    Blamed,
    Normed,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    blamed,
    config,
    nodes,
    without_kernels,
)

pytestmark = COMPILING

decomposition: Any = importlib.import_module("torch._inductor.decomposition")
patterns: Any = importlib.import_module("torch._inductor.pattern_matcher")


def is_backward(graph: Any) -> bool:
    return any(node.name.startswith("tangents") for node in graph.nodes)


def calls(target: Any, other: Any, *, backward: bool = False) -> Callable[[Any], None]:
    """A pass that lets the first node which calls one thing call another."""

    def wrong_pass(graph: Any) -> None:
        if is_backward(graph) == backward and (found := nodes(graph, target)):
            found[0].target = other

    return wrong_pass


def test_a_pass_before_gradients_is_to_blame(numbers: Numbers) -> None:
    wrong = calls(functional.relu, torch.tanh)

    with config.patch(pre_grad_custom_pass=wrong):
        answer = numbers.first(Perceptron(), torch.randn(4, 8))

    assert answer == Blamed(
        "pass", "pre-grad", "pre_grad_custom_pass", ("relu",), "functional.relu(out)"
    )


def test_in_a_module_of_torchs_the_submodule_and_its_call_are_said(
    numbers: Numbers,
) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Tanh(), nn.Sigmoid()))

    with config.patch(pre_grad_custom_pass=calls(torch.sigmoid, torch.tanh)):
        (fault,) = numbers.of(model, torch.randn(4, 8)).faults

    (where,) = fault.where
    assert (where.submodule, where.is_call) == ("1.1 (Sigmoid)", True)
    assert blamed(fault).code == "any_torch.compile(model, backend=backend)(*inputs)"


@pytest.mark.parametrize(
    ("model", "target", "other", "node", "code"),
    [
        (
            Perceptron,
            aten.add.Tensor,
            aten.sub.Tensor,
            "add",
            "functional.gelu(self.first(x))",
        ),
        (
            Attention,
            aten.relu.default,
            aten.neg.default,
            "relu",
            "functional.relu(mixed)",
        ),
        (
            Normed,
            aten.sigmoid.default,
            aten.tanh.default,
            "sigmoid",
            "torch.sigmoid(scaled)",
        ),
    ],
)
def test_a_joint_pass_is_to_blame(
    model: Any, target: Any, other: Any, node: str, code: str, numbers: Numbers
) -> None:
    def wrong(graph: Any) -> None:
        nodes(graph, target)[0].target = other

    with config.patch(joint_custom_post_pass=wrong):
        answer = numbers.first(model(), torch.randn(2, 4, 8))

    assert answer == Blamed("pass", "joint", "joint_custom_post_pass", (node,), code)


def test_a_joint_pass_is_to_blame_for_what_only_the_backward_computes(
    numbers: Numbers,
) -> None:
    def wrong(graph: Any) -> None:
        (where,) = nodes(graph, aten.where.self)
        where.args = (where.args[0], where.args[2], where.args[1])

    with config.patch(joint_custom_post_pass=wrong):
        answer = numbers.first(Perceptron(), torch.randn(4, 8))

    assert answer == Blamed(
        "pass", "joint", "joint_custom_post_pass", ("where",), "functional.relu(out)"
    )


def test_a_pass_behind_gradients_is_to_blame_in_the_forward(numbers: Numbers) -> None:
    wrong = calls(aten.relu.default, aten.abs.default)

    with config.patch(post_grad_custom_post_pass=wrong):
        answer = numbers.first(Perceptron(), torch.randn(4, 8))

    assert answer == Blamed(
        *("pass", "forward, post-grad", "post_grad_custom_post_pass", ("relu",)),
        "functional.relu(out)",
    )


def test_a_pass_behind_gradients_is_to_blame_in_the_backward(numbers: Numbers) -> None:
    wrong = calls(aten.mul.Tensor, aten.add.Tensor, backward=True)

    with config.patch(post_grad_custom_post_pass=wrong):
        answer = numbers.first(Normed(), torch.randn(4, 8, requires_grad=True))

    assert answer[:3] == ("pass", "backward, post-grad", "post_grad_custom_post_pass")
    assert len(answer.nodes) == 1
    assert answer.nodes[0].startswith("mul")


def test_a_node_that_a_pass_dropped_is_the_one_that_is_named(numbers: Numbers) -> None:
    def drops_an_addition(graph: Any) -> None:
        if not is_backward(graph):
            last = nodes(graph, aten.add.Tensor)[-1]
            last.replace_all_uses_with(last.args[1])
            graph.erase_node(last)

    with config.patch(post_grad_custom_post_pass=drops_an_addition):
        answer = numbers.first(Perceptron(), torch.randn(4, 8), backward=False)

    assert answer == Blamed(
        *("pass", "forward, post-grad", "post_grad_custom_post_pass", ("add_1",)),
        "x + functional.relu(out)",
    )


@pytest.mark.parametrize("backward", [False, True])
def test_a_wrong_decomposition_is_to_blame(
    backward: bool, monkeypatch: pytest.MonkeyPatch, numbers: Numbers
) -> None:
    def gelu(x: Any, approximate: str = "none") -> Any:
        return x * torch.sigmoid(1.702 * x)

    def gelu_backward(grad: Any, x: Any, approximate: str = "none") -> Any:
        return grad * torch.sigmoid(1.702 * x)

    which, wrong = (
        (aten.gelu_backward.default, gelu_backward)
        if backward
        else (aten.gelu.default, gelu)
    )
    # What inductor decomposes by, it puts together once.
    monkeypatch.setitem(decomposition.fast_random_decomps(), which, wrong)

    answer = numbers.first(Perceptron(), torch.randn(4, 8))

    assert answer[:3] == ("decomposition", "traced", str(which))
    assert answer.code == "functional.gelu(self.first(x))"


def exchanging(gm: Any, _inputs: Any) -> Any:
    for node in gm.graph.nodes:
        if node.target is functional.relu:
            node.target = torch.tanh
    gm.recompile()
    return gm.forward


def exchanging_before_inductor(gm: Any, inputs: Any) -> Any:
    exchanging(gm, inputs)
    return without_kernels(gm, inputs)


@pytest.mark.parametrize("backend", [exchanging, exchanging_before_inductor])
def test_a_backend_that_changes_its_graph_is_to_blame(
    backend: Any, numbers: Numbers
) -> None:
    answer = numbers.first(Perceptron(), torch.randn(4, 8), backend=backend)

    assert answer == Blamed(
        "backend", "", backend.__name__, ("relu",), "functional.relu(out)"
    )


def test_a_backend_that_runs_something_else_is_to_blame_without_a_node(
    numbers: Numbers,
) -> None:
    def scaling(gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            return [out * 1.01 for out in gm(*args)]

        return run

    answer = numbers.first(Perceptron(), torch.randn(4, 8), backend=scaling)

    assert answer == Blamed("backend", "", "scaling", (), "")


def test_of_two_wrong_passes_the_first_is_named_first(numbers: Numbers) -> None:
    with config.patch(
        joint_custom_post_pass=calls(
            aten.relu.default, aten.abs.default, backward=True
        ),
        post_grad_custom_post_pass=calls(aten.abs.default, aten.neg.default),
    ):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    assert [blamed(one)[:4] for one in found.faults] == [
        ("pass", "joint", "joint_custom_post_pass", ("relu",)),
        ("pass", "forward, post-grad", "post_grad_custom_post_pass", ("relu",)),
    ]


def slicing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sin(x[:, 1:3]) + torch.cos(y)[..., :2]


def test_of_a_pass_and_the_one_that_calls_it_the_inner_one_is_named(
    numbers: Numbers,
) -> None:
    found = patterns.PatternMatcherPass()

    @patterns.register_graph_pattern(
        patterns.CallFunction(aten.relu.default, patterns.Arg()), pass_dict=found
    )
    def _(match: Any, value: Any) -> None:
        match.replace_by_example(torch.abs, [value])

    def apply(graph: Any) -> None:
        found.apply(graph)

    with config.patch(post_grad_custom_post_pass=apply):
        answers = numbers.of(Perceptron(), torch.randn(4, 8), backward=False).faults

    (fault,) = answers
    assert blamed(fault) == Blamed(
        *("pass", "forward, post-grad", "pattern_matcher", ("abs_default",)),
        "functional.relu(out)",
    )
    assert fault.confirmed.endswith(
        "; it is called by the pass post_grad_custom_post_pass"
    )


def test_a_pass_that_takes_another_slice_is_to_blame(numbers: Numbers) -> None:
    def wrong(graph: Any) -> None:
        last = nodes(graph, operator.getitem)[-1]
        last.args = (last.args[0], (..., slice(1, 3)))

    with config.patch(pre_grad_custom_pass=wrong):
        found = numbers.of(slicing, torch.randn(4, 8), torch.randn(4, 8))

    assert [(*blamed(one)[:2], blamed(one).code) for one in found.faults] == [
        ("pass", "pre-grad", "torch.cos(y)[..., :2]")
    ]
    assert found.unseen == ()


def test_what_was_compiled_before_a_reset_is_compared_as_well(
    numbers: Numbers,
) -> None:
    numbers.run(Perceptron(), torch.randn(4, 8), backend=exchanging)
    any_torch.compiler.reset()  # torch gives the same names again

    found = numbers.of(Normed(), torch.randn(4, 8), backend=exchanging)

    assert [(one.compilation, blamed(one).code) for one in found.faults] == [
        ("0/0", "functional.relu(out)"),
        ("0/0 (2)", "functional.relu(x)"),
    ]


def counting(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    count.add_(1.0)
    x.mul_(2.0)
    return (x + count).relu()


def dividing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x / (y - y)).softmax(-1) + torch.log(x - 3.0)


def summing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * 1e4 - y * 1e4).sum(-1).exp2().mean() + (x @ y.t()).var()


def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    view = x.view(-1)
    return view[::2].sum() * y + x.t().contiguous().t()


def drawing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.3) + torch.rand_like(y) * y


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "function",
    [counting, dividing, summing, both, drawing],
    ids=lambda one: one.__name__,
)
def test_nobody_is_to_blame_for_what_a_function_means_to_do(
    function: Any, dtype: torch.dtype, numbers: Numbers
) -> None:
    inputs = [torch.randn(8, 8, dtype=dtype) for _ in range(2)]

    found = numbers.of(function, *inputs)

    assert found.faults == ()
    assert found.is_clear, found.unseen


def test_a_graph_whose_backward_computes_nothing_is_judged(numbers: Numbers) -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x - 1.0

    x = torch.randn(4, requires_grad=True)
    found = numbers.of(shifted, x * 2.0, backend="inductor")

    assert (found.faults, found.unseen, found.is_clear) == ((), (), True)


def test_a_backward_that_never_runs_is_no_reason_to_doubt(numbers: Numbers) -> None:
    x = torch.randn(4, 8, requires_grad=True)
    found = numbers.of(Perceptron(), x, backend="inductor", backward=False)

    assert (found.faults, found.unseen, found.is_clear) == ((), (), True)


def test_what_autocast_casts_is_nobodys_fault(numbers: Numbers) -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return (x @ x).float().square().sum(-1).sqrt()

    def outside(x: torch.Tensor) -> torch.Tensor:
        return (x @ x).float().square().sum(-1).sqrt()

    numbers.run(inside, torch.randn(8, 8))
    with torch.autocast("cpu", torch.bfloat16):
        numbers.run(outside, torch.randn(8, 8))

    found = numbers.found()

    assert found.faults == ()
    assert [(one.what, one.why) for one in found.unseen] == [
        ("what the function returned", "it switches autocast"),
        ("the captured graph", "it is called under autocast"),
        ("what the function returned", "it is called under autocast"),
    ]


def test_why_a_step_of_an_optimizer_is_not_compared_is_said_in_words(
    numbers: Numbers,
) -> None:
    """Dynamo does not keep the parameters alive that an optimizer changes."""

    def step() -> None:
        model = nn.Linear(4, 4)
        optimizer: Any = torch.optim.Adam(model.parameters(), foreach=False)
        any_torch.sum(model(torch.ones(1, 4))).backward()
        any_torch.compile(optimizer.step, backend="aot_eager")()

    step()
    gc.collect()
    (unseen,) = numbers.found().unseen
    gone = "the graph holds no self___param_groups_0__params___0 any more"
    assert unseen.why == f"x cannot be computed: {gone}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "model", [Perceptron, Attention, Normed, lambda: Attention(0.4)]
)
def test_nobody_is_to_blame_in_a_training_step(
    model: Any, dtype: torch.dtype, numbers: Numbers
) -> None:
    inputs = torch.randn(2, 4, 8, dtype=dtype, requires_grad=True)

    found = numbers.of(model().to(dtype), inputs)

    assert found.faults == ()
    assert found.is_clear, found.unseen
    assert found.passes > 0


def test_the_program_draws_the_same_numbers_as_without_a_comparison(
    numbers: Numbers,
) -> None:
    any_torch.manual_seed(7)
    numbers.run(drawing, torch.randn(8, 8), torch.randn(8, 8))
    before = any_torch.get_rng_state()

    numbers.found()

    assert any_torch.equal(any_torch.get_rng_state(), before)


def test_numbers_of_eight_bits_are_judged(numbers: Numbers) -> None:
    def model(x: torch.Tensor) -> Any:
        short = (x * 3).to(any_torch.float8_e4m3fn)
        return short, (short.float() + 1).to(any_torch.float8_e5m2)

    def scaled_wrongly(graph: Any) -> None:
        (product,) = nodes(graph, aten.mul.Tensor)
        product.args = (product.args[0], 3.5)

    x = torch.randn(8, 8)
    right = numbers.of(model, x, backward=False)
    numbers.forget()
    with config.patch(post_grad_custom_post_pass=scaled_wrongly):
        wrong = numbers.first(model, x, backward=False)

    assert (right.faults, right.unseen) == ((), ())
    assert (wrong.name, wrong.nodes) == ("post_grad_custom_post_pass", ("mul",))
