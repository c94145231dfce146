"""Every node gets the value that a run would give it, without the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.passes.fake_tensor_prop import FakeTensorProp as TorchFakeTensorProp

from fxls import engine as fx
from fxls.engine.passes.fake_tensor_prop import FakeTensorProp
from tests.engine.zoo import Example, examples

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
_fx: Any = torch.fx

trace = cast("Callable[[Callable[[Any], Any]], fx.GraphModule]", fx.symbolic_trace)
"""Typed for programs of one input."""


def notes_numbers() -> bool:
    def program(x: Any) -> Any:
        return x.dim()

    module = _fx.symbolic_trace(program)
    TorchFakeTensorProp(module).propagate(torch.ones(2))
    return "val" in list(module.graph.nodes)[1].meta


NUMBERS = notes_numbers()


def described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        known: Any = value
        layout = (tuple(known.shape), known.stride(), known.storage_offset())
        return type(known), layout, known.dtype, known.device, known.requires_grad
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return isinstance(value, list), [described(one) for one in items]
    if isinstance(value, dict):
        table = cast("dict[Any, Any]", value)
        return {key: described(one) for key, one in table.items()}
    # Torch 2.11 notes no plain number; ours does on every torch.
    return value if NUMBERS or not isinstance(value, int | float) else None


def noted(module: Any) -> dict[str, Any]:
    return {node.name: described(node.meta.get("val")) for node in module.graph.nodes}


@zoo
def test_values_are_those_that_torch_fx_notes(example: Example) -> None:
    module = example.make()
    theirs = _fx.symbolic_trace(example.make())
    ours = fx.symbolic_trace(module)
    allowing = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        TorchFakeTensorProp(theirs, allowing).propagate(*example.inputs())
    except Exception:  # noqa: BLE001 - what it cannot do is no measure
        return
    state = {key: id(value) for key, value in module.state_dict(keep_vars=True).items()}

    FakeTensorProp(ours, FakeTensorMode(allow_non_fake_inputs=True)).propagate(
        *example.inputs()
    )

    assert noted(ours) == noted(theirs)
    after = {key: id(value) for key, value in module.state_dict(keep_vars=True).items()}
    assert after == state


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(7)
        self.linear = torch.nn.Linear(3, 7)

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.linear(
            self.norm(self.linear(x)), self.linear.weight.t()
        )


def test_a_module_needs_no_mode_that_allows_its_parameters() -> None:
    model = Layers()
    result = FakeTensorProp(fx.symbolic_trace(model)).propagate(torch.ones(2, 3))

    assert isinstance(result, FakeTensor)
    assert tuple(result.shape) == (2, 3)
    assert model.norm.num_batches_tracked is not None
    assert model.norm.num_batches_tracked.item() == 0


def test_the_module_has_its_parameters_back_after_an_error() -> None:
    model = Layers()
    weight = model.linear.weight

    with pytest.raises(RuntimeError, match="While executing %linear"):
        FakeTensorProp(fx.symbolic_trace(model)).propagate(torch.ones(2, 5))
    assert model.linear.weight is weight
    assert type(model.linear.bias) is torch.nn.Parameter


def test_noted_values_share_storage_as_those_of_a_run_do() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        return y[0], y.clone()

    module = fx.symbolic_trace(program)
    FakeTensorProp(module).propagate(torch.ones(2, 2))
    value = {
        node.name: node.meta["val"].untyped_storage()._cdata
        for node in module.graph.nodes
        if node.op != "output"
    }

    assert value["getitem"] == value["add"]
    assert value["clone"] != value["add"]


def test_inputs_that_are_fake_already_are_taken_as_they_are() -> None:
    mode: Any = FakeTensorMode()
    module = trace(lambda x: x * 2)
    with mode:
        fake = torch.ones(5)

    result = FakeTensorProp(module, mode).propagate_dont_convert_inputs(fake)

    assert result.fake_mode is mode


def test_sizes_may_be_symbols() -> None:
    mode: Any = FakeTensorMode(shape_env=ShapeEnv())
    module = trace(lambda x: x.nonzero() + 1)

    FakeTensorProp(module, mode).propagate(torch.ones(4))

    nonzero = module.graph.find_nodes(op="call_method")[0]
    assert str(nonzero.meta["val"].shape[0]) == "u0"
    assert list(map(str, nonzero.meta["unbacked_bindings"])) == ["u0"]


def test_a_subgraph_gets_values_as_well() -> None:
    inner = trace(lambda x: (x.sin(),))
    graph = fx.Graph()
    x = graph.placeholder("x")
    body = graph.get_attr("body")
    operators: Any = torch.ops.higher_order
    called = graph.call_function(operators.invoke_subgraph, (body, "body", x))
    graph.output(called)
    module = fx.GraphModule({"body": inner}, graph)

    FakeTensorProp(module).propagate(torch.ones(4))

    assert noted(module.body)["sin"] == noted(module)["x"]
    assert noted(module)["invoke_subgraph"] == (False, [noted(module)["x"]])
