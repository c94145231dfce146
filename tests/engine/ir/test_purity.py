# Targets of every kind, of which torch says no type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""What is dead code: nothing of which torch knows that it does something."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch
import torch.fx
from torch._guards import TracingContext, tracing
from torch.fx.node import _side_effectful_functions as registered
from torch.fx.node import has_side_effect

from fxls import engine

BOTH = pytest.mark.parametrize("fx", [engine, torch.fx], ids=["fxls", "torch.fx"])

LATE = (
    "torch._higher_order_ops",
    "torch._dynamo.variables.streams",
    "torch._inductor.inductor_prims",
    "torch.distributed._functional_collectives",
    "torch.distributed.tensor",
)
"""What registers functions when it is imported, and is not there for each build."""

KEPT_BY_US_ALONE = {
    "prims.inductor_rand_eager_offset",
    "prims.inductor_rand_eager_offsets",
    "prims.inductor_seed",
    "prims.inductor_seeds",
    "prims.normal",
    "prims.uniform",
    "profiler._record_function_exit",
    "rngprims.philox_rand",
}
"""Operators that draw numbers, or end a record, and are pure for torch.fx."""

PACKETS_ARE_KNOWN = bool(
    torch.fx.Graph().call_function(cast("Any", torch.ops.aten.relu_)).is_impure()
)
"""Whether torch.fx looks into packets; an older one erases those that write."""


def impure(fx: Any, target: Any, *, impure_random: bool = True) -> bool:
    node = fx.Graph().create_node("call_function", target, (), {}, "called")
    return node.is_impure(impure_random)


def operators() -> Iterator[Any]:
    """Every operator that is loaded, with its packet; and those of higher order."""
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        try:
            found = getattr(getattr(torch.ops, namespace), packet)
            yield getattr(found, overload or "default")
            if PACKETS_ARE_KNOWN:
                yield found
        except (AttributeError, RuntimeError):
            continue  # what an operator says of itself only in C++
    yield from (
        cast("Any", torch.ops.higher_order)._ops.values()
        if hasattr(torch.ops.higher_order, "_ops")
        else ()
    )


def functions() -> Iterator[Any]:
    """Every function of the modules of torch that graphs call."""
    for name in (
        "torch", "torch._C", "torch._C._nn", "torch.nn.functional", "torch.cuda",
        "torch.linalg", "torch.fft", "torch.special", "torch.amp.autocast_mode",
        "torch._functorch.predispatch", "torch.distributed",
        "torch.distributed._functional_collectives", "torch.autograd.profiler",
        "torch.random", "torch.accelerator", "operator", "builtins", "math", "random",
    ):  # fmt: skip
        module = sys.modules.get(name)
        for value in list(vars(module).values()) if module else ():
            if callable(value) and getattr(value, "__name__", None):
                yield value
    yield from registered


def compared(targets: Iterator[Any]) -> tuple[int, set[str]]:
    """How many targets there are, and those of which the answers differ."""
    seen: set[int] = set()
    differ: set[str] = set()
    for target in targets:
        if id(target) in seen:
            continue
        seen.add(id(target))
        for impure_random in (True, False):
            ours, theirs = (
                impure(fx, target, impure_random=impure_random)
                for fx in (engine, torch.fx)
            )
            if ours != theirs:
                differ.add(str(target).partition(".default")[0])
                assert ours, f"{target} is dead code to us alone"
    return len(seen), differ


@pytest.mark.slow
def test_every_operator_that_torch_keeps_is_kept() -> None:
    for name in LATE:
        importlib.import_module(name)
    count, differ = compared(operators())

    assert differ <= KEPT_BY_US_ALONE
    assert count > 3_000


@pytest.mark.slow
def test_every_function_that_torch_keeps_is_kept() -> None:
    for name in LATE:
        importlib.import_module(name)
    count, differ = compared(functions())

    assert differ <= KEPT_BY_US_ALONE
    assert count > 2_000
    assert all(impure(engine, one) for one in registered)


@BOTH
def test_a_function_that_is_registered_with_torch_fx_is_kept_from_then_on(
    fx: Any,
) -> None:
    def log(x: Any) -> None:
        del x

    assert not impure(fx, log)
    has_side_effect(log)
    try:
        assert impure(fx, log)
    finally:
        registered.discard(log)


@BOTH
def test_a_call_of_an_operator_with_an_effect_through_another_is_kept(fx: Any) -> None:
    graph = fx.Graph()
    wait = torch.ops.aten._assert_scalar.default
    functional = torch.ops.higher_order.auto_functionalized
    kept = graph.call_function(functional, (wait,))
    pure = graph.call_function(functional, (torch.ops.aten.relu.default,))

    assert [kept.is_impure(), pure.is_impure()] == [True, False]


@BOTH
def test_collectives_whose_result_nobody_uses_are_kept(fx: Any) -> None:
    importlib.import_module("torch.distributed._functional_collectives")
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.relu, (x,))
    graph.call_function(torch.ops._c10d_functional.wait_tensor.default, (x,))
    graph.output(x)

    assert graph.eliminate_dead_code()

    assert [node.name for node in graph.nodes] == ["x", "wait_tensor_default", "output"]


@BOTH
def test_dead_code_of_the_graphs_that_a_graph_reads_goes_as_well(fx: Any) -> None:
    body = fx.Graph()
    y = body.placeholder("y")
    body.call_function(torch.relu, (y,))
    body.output(y)
    inner = fx.GraphModule({}, body)
    graph = fx.Graph()
    x = graph.placeholder("x")
    read = graph.get_attr("read")
    graph.output(graph.call_function(torch.cond, (True, read, read, [x])))
    root = torch.nn.Module()
    root.add_module("read", inner)
    outer = fx.GraphModule(root, graph)

    assert outer.graph.eliminate_dead_code()
    assert "relu" not in outer.read.code
    assert not outer.graph.eliminate_dead_code()


@BOTH
def test_a_question_of_ones_own_is_asked_of_every_node_from_the_last_one(
    fx: Any,
) -> None:
    asked: list[str] = []

    def keep(node: Any) -> bool:
        asked.append(node.name)
        return node.op in ("placeholder", "output")

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.rand, (2,))
    graph.output(graph.call_function(torch.relu, (x,)))

    assert graph.eliminate_dead_code(keep)
    assert asked == ["output", "relu", "rand", "x"]
    assert [node.name for node in graph.nodes] == ["x", "relu", "output"]


@BOTH
def test_a_compiler_that_draws_its_own_numbers_drops_operators_that_draw(
    fx: Any,
) -> None:
    importlib.import_module("torch._inductor.config")

    def drawn() -> bool:
        graph = fx.Graph()
        graph.call_function(torch.ops.aten.rand.default, ([2],))
        graph.output(None)
        return graph.eliminate_dead_code()

    assert not drawn()
    with tracing(TracingContext(cast("Any", None))):
        assert drawn()
