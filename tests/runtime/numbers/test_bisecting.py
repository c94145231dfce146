"""A function of the user's is asked of each graph that a step of the compiler left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch

from fxls.runtime import installing
from fxls.runtime.numbers.bisecting import bisected
from fxls.verdicts.bisection import Bisection, FirstBad
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    config,
    nodes,
    without_kernels,
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


WRONG = ("0/0", "graph 0, forward, post-grad", "post_grad_custom_post_pass", 1)


def asked(
    numbers: Numbers,
    plant: Callable[[Any], None] | None,
    predicate: Any,
    backend: Any = without_kernels,
) -> Bisection:
    """What a predicate says of a small model, in which a pass planted something."""
    any_torch.manual_seed(0)
    model = Perceptron().requires_grad_(False)
    with (
        config.patch(post_grad_custom_post_pass=plant),
        contextlib.suppress(ValueError),
    ):
        numbers.run(model, torch.randn(4, 8), backend=backend, backward=False)
    return bisected(kept(), predicate)


def test_a_graph_that_is_not_legal_is_bad_for_lint(numbers: Numbers) -> None:
    def reads_before_it_is_made(graph: Any) -> None:
        calls = [node for node in graph.nodes if node.op == "call_function"]
        calls[-1].append(calls[0])

    def lints(gm: Any) -> None:
        gm.graph.lint()

    found = asked(numbers, reads_before_it_is_made, lints)

    (bad,) = found.found
    assert (bad.compilation, bad.stage, bad.name, bad.ordinal) == WRONG
    assert bad.reason.startswith("the graph is not legal: RuntimeError: Argument ")
    assert found.untested == ()


def test_a_graph_that_raises_where_the_one_before_does_not_is_bad(
    numbers: Numbers,
) -> None:
    def refuses(value: Any) -> Any:
        if type(value) is torch.Tensor:  # and no fake one of torch's
            raise ValueError("too small")
        return aten.relu.default(value)

    def plant(graph: Any) -> None:
        nodes(graph, aten.relu.default)[0].target = refuses

    def runs(gm: Any, inputs: Any) -> None:
        gm(*inputs)

    (bad,) = asked(numbers, plant, runs).found

    assert (bad.compilation, bad.stage, bad.name, bad.ordinal) == WRONG
    assert bad.reason == "it raises ValueError: too small"


def test_what_a_function_does_wrong_itself_makes_no_graph_bad(numbers: Numbers) -> None:
    def calls_it_wrongly(gm: Any, inputs: Any) -> None:
        gm(inputs[0][:, :3], *inputs[1:])

    found = asked(numbers, None, calls_it_wrongly)

    assert found.found == ()
    assert found.tested == 0
    why = {one.why.rpartition(", at ")[2] for one in found.untested}
    assert {text.partition(":")[0] for text in why} == {"test_bisecting.py"}
    assert {text.rpartition(": ")[2] for text in why} == {
        "gm(inputs[0][:, :3], *inputs[1:])"
    }


def test_what_a_node_said_of_its_value_is_what_it_said_then(numbers: Numbers) -> None:
    def says_double(graph: Any) -> None:
        (relu,) = nodes(graph, aten.relu.default)
        relu.target, relu.meta["val"] = aten.neg.default, relu.meta["val"].double()

    def has_no_double(gm: Any) -> bool:
        values = [node.meta.get("val") for node in gm.graph.nodes]
        return all(getattr(one, "dtype", None) != torch.float64 for one in values)

    (bad,) = asked(numbers, says_double, has_no_double).found

    assert (bad.compilation, bad.stage, bad.name, bad.ordinal) == WRONG


def test_a_step_that_makes_a_graph_slow(numbers: Numbers) -> None:
    def waits(value: Any) -> Any:
        time.sleep(0.2)
        return aten.relu.default(value)

    def slow(graph: Any) -> None:
        nodes(graph, aten.relu.default)[0].target = waits

    def is_fast(gm: Any, inputs: Any) -> bool:
        began = time.perf_counter()
        gm(*inputs)
        return time.perf_counter() - began < 0.2

    (bad,) = asked(numbers, slow, is_fast).found

    assert (bad.compilation, bad.stage, bad.name, bad.ordinal) == WRONG


def test_the_code_of_a_graph_is_asked_about_in_its_place(numbers: Numbers) -> None:
    eager: list[Any] = []

    def is_as_before(gm: Any, inputs: Any) -> None:
        out = gm(*inputs)[0]
        eager.append(out)
        assert any_torch.allclose(out, eager[0], atol=1e-4), "too far"

    with config.patch({"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}):
        found = asked(numbers, None, is_as_before, "inductor")

    (bad,) = found.found
    assert (bad.stage, bad.name) == ("graph 0, forward, post-grad", "inductor's code")
    assert bad.reason.partition("\n")[0] == "AssertionError: too far"


def test_an_assertion_without_words_has_its_place(numbers: Numbers) -> None:
    def never(_gm: Any) -> None:
        raise AssertionError

    (bad,) = asked(numbers, None, never).found

    assert bad.reason.partition(", at ")[0] == "AssertionError"
    assert bad.reason.endswith(": raise AssertionError")
