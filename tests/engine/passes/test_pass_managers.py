"""Passes run in the order that constraints allow, and say what happened."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch

from fxls import engine as fx
from fxls.engine.passes import pass_manager as plain
from fxls.engine.passes.infra.pass_base import PassBase, PassResult
from fxls.engine.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)


def relu_to_neg(gm: Any) -> PassResult:
    found = gm.graph.find_nodes(op="call_function", target=torch.relu)
    for node in found:
        node.target = torch.neg
    return PassResult(gm, bool(found))


def neg_to_abs(gm: Any) -> PassResult:
    found = gm.graph.find_nodes(op="call_function", target=torch.neg)
    for node in found:
        node.target = torch.abs
    return PassResult(gm, bool(found))


def broken(_gm: Any) -> PassResult:
    raise KeyError("no such thing")


def program(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def program_of_two(_x: Any, _y: Any) -> None:
    pass


def module() -> fx.GraphModule:
    return fx.symbolic_trace(program)


def target(result: Any) -> Any:
    graph = getattr(result, "graph_module", result).graph
    return next(n.target for n in graph.nodes if n.op == "call_function")


def test_passes_run_once_in_the_order_given() -> None:
    result = PassManager(passes=[neg_to_abs, relu_to_neg])(module())

    assert result == PassResult(result.graph_module, modified=True)
    assert target(result) is torch.neg
    assert result.graph_module(torch.ones(1)).item() == -1


def test_steps_repeat_until_nothing_changes() -> None:
    manager = PassManager(passes=[neg_to_abs, relu_to_neg], steps=5)

    assert target(manager(module())) is torch.abs
    assert not manager(manager(module()).graph_module).modified


def test_constraints_put_passes_in_order() -> None:
    first = this_before_that_pass_constraint(relu_to_neg, neg_to_abs)
    manager = PassManager(passes=[neg_to_abs, relu_to_neg], constraints=[first])

    with pytest.raises(RuntimeError, match="schedule constraint violated"):
        manager.validate_constraints()
    manager.solve_constraints()
    assert manager.passes == [relu_to_neg, neg_to_abs]
    assert target(manager(module())) is torch.abs
    manager.validate_constraints()


def test_passes_that_wait_for_one_another_are_refused() -> None:
    manager = PassManager(passes=[relu_to_neg, neg_to_abs])
    manager.add_constraint(this_before_that_pass_constraint(relu_to_neg, neg_to_abs))
    manager.add_constraint(this_before_that_pass_constraint(neg_to_abs, relu_to_neg))

    with pytest.raises(RuntimeError, match=r"Circular dependency .*relu_to_neg"):
        manager(module())


def test_an_error_names_the_pass_and_those_before() -> None:
    manager = PassManager(passes=[relu_to_neg, broken])

    with pytest.raises(Exception, match=r"running the 'broken' pass") as caught:
        manager(module())
    assert type(caught.value) is Exception
    assert str(caught.value).endswith("following passes: ['relu_to_neg']")
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_pass_must_give_a_result() -> None:
    def forgets(gm: Any) -> Any:
        return gm

    manager = PassManager(passes=[forgets])

    with pytest.raises(Exception, match="forgets") as caught:
        manager(module())
    assert isinstance(caught.value.__cause__, TypeError)
    assert "pass_result_wrapper" in str(caught.value.__cause__)


def test_a_function_becomes_a_pass() -> None:
    def in_place(gm: Any) -> None:
        relu_to_neg(gm)

    wrapped = pass_result_wrapper(in_place)

    assert wrapped is not None
    assert wrapped.__name__ == "in_place"
    assert target(PassManager(passes=[wrapped])(module())) is torch.neg
    assert pass_result_wrapper(None) is None


def test_checks_run_before_and_with_the_flag_behind_each_pass() -> None:
    seen: list[Any] = []
    manager = PassManager([relu_to_neg, neg_to_abs], run_checks_after_each_pass=True)
    manager.add_checks(lambda gm: seen.append(target(gm)))
    manager(module())

    assert seen == [torch.relu, torch.neg, torch.abs]
    with pytest.raises(TypeError, match="only take in one variable"):
        manager.add_checks(cast("Any", program_of_two))


def test_a_pass_as_a_class_checks_before_and_behind() -> None:
    class Checked(PassBase):
        said: list[str]

        def requires(self, graph_module: fx.GraphModule) -> None:
            self.said = ["requires"]

        def call(self, graph_module: fx.GraphModule) -> PassResult | None:
            self.said.append("call")
            return relu_to_neg(graph_module)

        def ensures(self, graph_module: fx.GraphModule) -> None:
            self.said.append("ensures")

    one = Checked()

    assert target(PassManager([one])(module())) is torch.neg
    assert one.said == ["requires", "call", "ensures"]
    with pytest.raises(TypeError, match="abstract"):
        PassBase()  # pyright: ignore[reportAbstractUsage]  # that is the question


def add_one(x: list[int]) -> list[int]:
    return [*x, 1]


def add_two(x: list[int]) -> list[int]:
    return [*x, 2]


def test_any_object_goes_through_plain_passes() -> None:
    manager = plain.PassManager.build_from_passlist([add_one])
    manager.add_pass(add_two)

    assert manager([]) == [1, 2]
    manager.replace_pass(add_one, add_two)
    assert manager([]) == [2, 2]
    manager.remove_pass(["add_two"])
    assert manager([0]) == [0]


def test_plain_constraints_are_checked() -> None:
    wrong = [plain.loop_pass(add_two, 1), add_one]
    one_first = plain.these_before_those_pass_constraint(add_one, add_two)
    direct = plain.this_before_that_pass_constraint(add_one, add_two)

    with pytest.raises(RuntimeError, match=r"Expected .*add_one.* before .*add_two"):
        plain.PassManager(wrong, [one_first])([])
    assert plain.PassManager(wrong, [direct])([]) == [2, 1]
    manager = plain.PassManager([add_one])
    manager.add_constraint(direct)
    manager.add_pass(add_two)
    manager.validate()
    assert manager([]) == [1, 2]


def test_a_pass_is_repeated() -> None:
    thrice = plain.loop_pass(add_one, n_iter=3)
    until = plain.loop_pass(add_one, predicate=lambda x: len(x) < 2)

    assert thrice([]) == [1, 1, 1]
    assert until([]) == [1, 1]
    with pytest.raises(AssertionError, match="Exactly one"):
        plain.loop_pass(add_one)
    with pytest.raises(AssertionError, match="Exactly one"):
        plain.loop_pass(add_one, 1, lambda _: True)
    with pytest.raises(RuntimeError, match="positive"):
        plain.loop_pass(add_one, 0)([])


def test_what_a_pass_returns_is_logged_and_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def count(x: list[int]) -> int:
        x.append(5)
        return len(x)

    logged = plain.inplace_wrapper(plain.log_hook(count, level=30))

    assert logged([]) == [5]
    (record,) = caplog.records
    assert record.getMessage().endswith("Return value: 1")
