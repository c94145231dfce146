"""What a graph says of itself: whether it is well-formed, whose it is, what is dead."""

from __future__ import annotations

import operator
from typing import Any, cast

import pytest
import torch
import torch.fx
from torch.amp import autocast_mode

from fxls import engine as fx

BOTH = pytest.mark.parametrize("engine", [fx, torch.fx], ids=["ours", "torch.fx"])


def one_call(engine: Any, op: str, target: Any) -> Any:
    """A module whose graph has one node between its input and its output."""
    graph = engine.Graph()
    x = graph.placeholder("x")
    graph.output(graph.create_node(op, target, (x,)))
    return engine.GraphModule(torch.nn.ReLU(), graph)


def called(gm: Any) -> Any:
    return list(gm.graph.nodes)[1]


class TestOwner:
    @BOTH
    def test_the_owner_is_the_module_that_got_the_graph_last(self, engine: Any) -> None:
        first = one_call(engine, "call_method", "relu")
        second = engine.GraphModule(torch.nn.Module(), first.graph)
        assert first.graph.owning_module is second

        first.graph = first.graph

        assert first.graph.owning_module is first

    @BOTH
    def test_a_graph_may_be_disowned(self, engine: Any) -> None:
        gm = one_call(engine, "call_method", "relu")

        gm.graph.owning_module = None

        assert gm.graph.owning_module is None


class TestLint:
    @BOTH
    @pytest.mark.parametrize(
        ("op", "target"),
        [
            ("call_function", "relu"),
            ("call_function", 3),
            ("call_method", torch.relu),
            ("call_module", torch.relu),
            ("get_attr", None),
        ],
    )
    def test_a_target_that_does_not_go_with_the_opcode_is_a_fault(
        self, engine: Any, op: str, target: object
    ) -> None:
        gm = one_call(engine, "call_method", "relu")

        called(gm).op = op
        called(gm).target = target

        with pytest.raises(
            (ValueError, RuntimeError), match=r"relu target .* has type"
        ):
            gm.graph.lint()
        with pytest.raises((ValueError, AssertionError), match="target"):
            gm.graph.python_code("self")

    def test_the_report_shows_the_node_and_says_what_to_do(self) -> None:
        gm = one_call(fx, "call_method", "relu")
        called(gm).target = torch.relu

        with pytest.raises(RuntimeError) as raised:
            gm.graph.lint()

        assert (
            str(raised.value)
            == """\
Node relu target torch.relu has type builtin_function_or_method but a str is expected: assign op and target both
    %x : [num_users=1] = placeholder[target=x]
  > %relu : [num_users=1] = call_method[target=torch.relu](args = (%x,), kwargs = {})
    return relu"""
        )

    def test_opcode_and_target_may_be_assigned_one_after_the_other(self) -> None:
        gm = one_call(fx, "call_method", "relu")

        called(gm).op = "call_function"
        called(gm).target = operator.neg

        gm.graph.lint()
        gm.recompile()
        assert gm(3) == -3


class TestDeadCode:
    @pytest.mark.parametrize(
        "target",
        cast(
            "list[Any]",
            [
                torch._C._set_grad_enabled,
                cast("Any", autocast_mode)._enter_autocast,
                cast("Any", autocast_mode)._exit_autocast,
                torch.ops.aten._assert_scalar.default,
                torch.ops.aten._assert_async.msg,
                torch.ops.aten._print.default,
                torch.ops.aten.sym_constrain_range.default,
                torch.ops.profiler._record_function_enter_new.default,
                torch.ops.c10d.barrier.default,
                cast("Any", torch).manual_seed,
                torch.rand,
                torch.ops.aten.rand.default,
                torch.ops.aten.add_.Tensor,
                torch.ops.aten.add.Tensor,
                torch.relu,
            ],
        ),
        # Not str: pytest-xdist asks that every process collects the same names.
        ids=lambda target: target.__name__,
    )
    def test_what_does_something_is_kept_as_torch_fx_keeps_it(
        self, target: Any
    ) -> None:
        for impure_random in (True, False):
            theirs, ours = (
                engine.Graph().create_node("call_function", target)
                for engine in (torch.fx, fx)
            )
            assert ours.is_impure(impure_random) == theirs.is_impure(impure_random)

    def test_a_graph_that_switches_modes_keeps_doing_so(self) -> None:
        graph = fx.Graph()
        x = graph.placeholder("x")
        graph.call_function(torch._C._set_grad_enabled, (False,))
        graph.call_function(torch.relu, (x,))
        graph.output(x)

        assert graph.eliminate_dead_code()

        assert [node.name for node in graph.nodes] == [
            "x",
            "_set_grad_enabled",
            "output",
        ]
