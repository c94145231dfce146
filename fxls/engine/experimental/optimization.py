"""Faster modules for inference: fused, without dropout, in the layout of oneDNN."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

from torch import nn
from torch.nn.utils import fusion

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.experimental import mkldnn_layout
from fxls.engine.experimental.mkldnn_layout import (
    MklSubgraph,
    UnionFind,
    extract_subgraph,
    gen_mkl_autotuner,
    modules_to_mkldnn,
    replace_node_module,
    reset_modules,
    use_mkl_length,
)
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Transformer
from fxls.engine.ir.node import Node
from fxls.engine.origins import resolve as origin
from fxls.engine.tracing.tracer import Tracer

__all__ = [
    "MklSubgraph",
    "UnionFind",
    "extract_subgraph",
    "fuse",
    "gen_mkl_autotuner",
    "matches_module_pattern",
    "modules_to_mkldnn",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
    "reset_modules",
    "use_mkl_length",
]

_FUSING: dict[tuple[type[nn.Module], type[nn.Module]], Any] = {
    (nn.Conv1d, nn.BatchNorm1d): fusion.fuse_conv_bn_eval,
    (nn.Conv2d, nn.BatchNorm2d): fusion.fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fusion.fuse_conv_bn_eval,
    (nn.Linear, nn.BatchNorm1d): fusion.fuse_linear_bn_eval,
}
"""What makes one layer of two that follow one another, in evaluation mode."""


def matches_module_pattern(
    pattern: Iterable[type], node: Node, modules: dict[str, nn.Module]
) -> bool:
    """Whether a node and its first input call submodules of exactly these two types."""
    if not node.args:
        return False
    for expected, one in zip(pattern, (node.args[0], node), strict=False):
        if not isinstance(one, Node) or one.op != "call_module":
            return False
        if type(modules.get(one.target)) is not expected:
            return False
    return True


def fuse(
    model: nn.Module,
    inplace: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    no_trace: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> nn.Module:
    """A module with each batch norm folded into the convolution or linear in front.

    - For inference only: the module must be in evaluation mode.
    - A layer whose result something else uses as well stays, and so does one that the
      graph calls twice or reads a parameter of, and a batch norm without statistics.
    - `model` is copied, unless `inplace`; with `no_trace`, a GraphModule is taken as it
      is.
    """
    if not inplace:
        model = copy.deepcopy(model)
    if not (no_trace and isinstance(model, GraphModule)):
        model = symbolic_trace(model)
    modules = mkldnn_layout.modules_by_path(model)
    graph = copy.deepcopy(model.graph)
    uses = _uses(graph, modules)
    for pattern, fused in _FUSING.items():
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            layer = cast("Node", node.args[0])
            norm: Any = modules[node.target]
            if len(layer.users) > 1 or uses[modules[layer.target]] > 1:
                continue
            if not norm.track_running_stats:
                continue
            replace_node_module(layer, modules, fused(modules[layer.target], norm))
            layer._frames = origin.merge((layer._frames, node._frames))
            node.replace_all_uses_with(layer)
            graph.erase_node(node)
    return GraphModule(model, graph)


def _uses(graph: Graph, modules: dict[str, nn.Module]) -> Counter[nn.Module]:
    """How many nodes call each module, or read an attribute of it."""
    uses: Counter[nn.Module] = Counter()
    for node in graph.nodes:
        path = cast("str", node.target)
        if node.op == "call_module":
            uses[modules[path]] += 1
        elif node.op == "get_attr" and path.rpartition(".")[0] in modules:
            uses[modules[path.rpartition(".")[0]]] += 1
    return uses


def remove_dropout(model: nn.Module) -> nn.Module:
    """A module that does not call the dropout layers of this one."""
    return _DropoutRemover(symbolic_trace(model)).transform()


class _DropoutRemover(Transformer):
    def call_module(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if not isinstance(self.submodules[target], nn.Dropout):
            return super().call_module(target, args, kwargs)
        value = kwargs.get("input", *args)
        if len(args) + len(kwargs) != 1:
            raise AssertionError(f"dropout takes one argument, not {args} and {kwargs}")
        return value


def optimize_for_inference(
    model: nn.Module,
    pass_config: dict[str, Any] | None = None,
    tracer: type[Tracer] = Tracer,
) -> nn.Module:
    """A module that computes the same in evaluation mode, faster.

    - ``pass_config["conv_bn_fuse"]`` and ``["remove_dropout"]`` are True unless given.
    - ``pass_config["mkldnn_layout_optimize"]`` is False, or a dict with a
      ``"heuristic"``: whether a `MklSubgraph` is worth the change of layout.
    - Tensors are taken not to alias, and to be of float32 on the CPU.
    """
    config: dict[str, Any] = {
        "conv_bn_fuse": True,
        "remove_dropout": True,
        "mkldnn_layout_optimize": {"heuristic": use_mkl_length},
        **(pass_config or {}),
    }
    if config["conv_bn_fuse"]:
        model = fuse(model)
    if config["remove_dropout"]:
        model = remove_dropout(model)
    layout = config["mkldnn_layout_optimize"]
    if layout is False:
        return model
    if not isinstance(layout, dict):
        raise RuntimeError(
            f"mkldnn_layout_optimize config is not a dict, and not False, but {layout!r}"
        )
    if "heuristic" not in layout:
        raise RuntimeError("Heuristic not found in mkldnn_layout_optimize config")
    heuristic = cast("dict[str, Any]", layout)["heuristic"]
    return mkldnn_layout.convert(model, heuristic, tracer)
