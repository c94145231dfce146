# pyright: reportUnknownMemberType=false
"""onnx2torch makes a graph module of a model of ONNX."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import numpy as np
import torch
import torch.fx

onnx: Any = importlib.import_module("onnx")
onnx2torch: Any = importlib.import_module("onnx2torch")


def model() -> Any:
    """Conv, Relu, a sum over axes, and a Gemm with two results used twice."""
    h = onnx.helper
    draw = np.random.default_rng(0)

    def constant(name: str, *shape: int) -> Any:
        values = draw.standard_normal(shape).astype(np.float32)
        return onnx.numpy_helper.from_array(values, name)

    nodes = [
        h.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3]),
        h.make_node("Relu", ["c"], ["r"]),
        h.make_node("ReduceMean", ["r"], ["m"], axes=[2, 3], keepdims=0),
        h.make_node("Gemm", ["m", "v", "u"], ["g"], transB=1),
        h.make_node("Add", ["g", "g"], ["y"]),
    ]
    graph = h.make_graph(
        nodes,
        "g",
        [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8])],
        [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])],
        [
            constant("w", 4, 3, 3, 3),
            constant("b", 4),
            constant("v", 2, 4),
            constant("u", 2),
        ],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 13)])


def test_a_model_computes_what_it_says() -> None:
    proto = model()
    converted: Any = onnx2torch.convert(proto)
    values = {
        one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy())
        for one in proto.graph.initializer
    }
    x = torch.randn(1, 3, 8, 8)
    mean = torch.conv2d(x, values["w"], values["b"]).relu().mean((2, 3))
    expected = torch.addmm(values["u"], mean, values["v"].t()) * 2

    assert isinstance(converted, torch.fx.GraphModule)
    torch.testing.assert_close(converted(x), expected)


def test_a_converted_model_is_copied_and_edited() -> None:
    converted: Any = onnx2torch.convert(model())
    copied: Any = copy.deepcopy(converted)
    x = torch.randn(1, 3, 8, 8)
    last = next(n for n in reversed(copied.graph.nodes) if n.op == "call_module")
    last.replace_all_uses_with(last.args[0])
    copied.graph.erase_node(last)
    copied.delete_all_unused_submodules()
    copied.recompile()

    torch.testing.assert_close(copied(x) * 2, converted(x))
