"""A graph is drawn as torch.fx draws it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
import torch.fx
from torch.fx.passes.graph_drawer import FxGraphDrawer as TorchDrawer
from torch.fx.passes.shape_prop import ShapeProp as TorchShapeProp

from fxls import engine as fx
from fxls.engine.passes.graph_drawer import FxGraphDrawer
from fxls.engine.passes.shape_prop import ShapeProp

_fx: Any = torch.fx

trace = cast("Callable[[Callable[[Any], Any]], fx.GraphModule]", fx.symbolic_trace)
"""Typed for programs of one input."""


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> Any:
        y = torch.nn.functional.relu(self.norm(self.conv(x))) + self.scale
        z: Any = torch.cat([torch.flatten(y, 1)] * 10, dim=1)
        quantized: Any = torch.quantize_per_tensor(z, 0.1, 0, torch.quint8)
        return {"parts": z.view([1, -1]).split(3), "small": quantized}


@pytest.mark.filterwarnings("ignore:.*quantize:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ignore_getattr": True},
        {"ignore_parameters_and_buffers": True},
        {"skip_node_names_in_args": False},
        {"dot_graph_shape": "box"},
        {"normalize_args": True},
    ],
    ids=lambda settings: next(iter(settings), "plain"),
)
def test_drawings_are_those_of_torch_fx(settings: dict[str, Any]) -> None:
    model, x = Model(), torch.ones(1, 3, 5, 5)
    ours, theirs = fx.symbolic_trace(model), _fx.symbolic_trace(model)
    ShapeProp(ours).propagate(x)
    TorchShapeProp(theirs).propagate(x)

    drawing = FxGraphDrawer(ours, "model", **settings).get_dot_graph()

    expected: Any = TorchDrawer(theirs, "model", **settings).get_dot_graph()
    assert drawing.to_string() == expected.to_string()


def test_a_drawing_shows_where_a_node_is_from() -> None:
    def program(x: Any) -> Any:
        return {"a": torch.relu(x)}

    drawer = FxGraphDrawer(fx.symbolic_trace(program), "p", parse_stack_trace=True)
    (box,) = drawer.get_dot_graph().get_node("relu")

    line = program.__code__.co_firstlineno + 1
    source = r"return \{\"a\": torch.relu(x)\}"
    file = "passes/test_graph_drawer.py"
    assert rf"|file={file}:{line} {source}\n" in box.get_label()


def test_graph_modules_inside_have_drawings_of_their_own() -> None:
    inner = fx.symbolic_trace(torch.nn.ReLU())
    graph = fx.Graph()
    graph.output(graph.call_module("part", (graph.placeholder("x"),)))
    drawer = FxGraphDrawer(fx.GraphModule({"part": inner}, graph), "whole")

    assert list(drawer.get_all_dot_graphs()) == ["whole", "whole_part"]
    assert drawer.get_submod_dot_graph("part") is drawer.get_dot_graph("part")
    assert drawer.get_main_dot_graph() is drawer.get_dot_graph()


def test_long_arguments_are_shortened() -> None:
    module = trace(lambda x: x.view(list(range(12))))
    (box,) = FxGraphDrawer(module, "m").get_dot_graph().get_node("view")

    assert "[0, 1, 2, 3, 4, 5, 6, 7, ...[total_len=12]]" in box.get_label()


def test_without_pydot_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydot", None)

    with pytest.raises(RuntimeError, match="install pydot"):
        FxGraphDrawer(fx.symbolic_trace(torch.nn.ReLU()), "m")
