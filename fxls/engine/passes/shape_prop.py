"""Running a graph on example inputs to note the shape and type of every value."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from fxls.engine.interpreter import Interpreter
from fxls.engine.ir.arguments import map_aggregate
from fxls.engine.late_names import late_names
from fxls.engine.torch_private import (
    deepcopy_to_fake,
    detect_fake_mode,
    python_dispatcher,
)

if TYPE_CHECKING:
    from fxls.engine.graph_module import GraphModule
    from fxls.engine.ir.node import Node

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor besides its numbers."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int | torch.SymInt, ...]
    """Empty for a sparse tensor."""
    memory_format: torch.memory_format | None
    """Contiguous wins where several are right; None where none is known to be."""
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """Runs a graph, and notes in each node's meta what its value is.

    ``meta["tensor_meta"]`` is a `TensorMetadata`, or the value with one in place of each
    tensor; missing where there is no tensor. ``meta["type"]`` is the value's class.

    - With a `fake_mode` (given, or found among what is active), nothing is computed and
      the module stays as it is.
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is None:
            fake_mode = detect_fake_mode()
        self.real_module = self.module
        self.fake_mode = fake_mode
        self.fake_module = (
            None if fake_mode is None else deepcopy_to_fake(gm, fake_mode)
        )

    def propagate(self, *args: Any) -> Any:
        """Run the module on these inputs; returns its result."""
        mode = self.fake_mode
        if mode is None:
            return super().run(*args)
        return super().run(
            *[mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
        )

    def run_node(self, n: Node) -> Any:
        """Run one node and note what its value is."""
        try:
            value = super().run_node(n) if self.fake_mode is None else self._run_fake(n)
        except Exception as error:
            raise self._refusal(n, error) from error
        note(n, value)
        return value

    @property
    def _is_plain(self) -> bool:
        return self.fake_mode is None and self._has_steps_of(ShapeProp)

    def _observe(self, node: Node, value: Any) -> None:
        note(node, value)

    def _refusal(self, node: Node, error: Exception) -> Exception:
        traceback.print_exc()
        return RuntimeError(
            f"ShapeProp error for: node={node.format_node()} with meta={node.meta}"
        )

    def _run_fake(self, n: Node) -> Any:
        assert self.fake_module is not None, "it is made with the mode"
        self.module = self.fake_module
        try:
            with self.fake_mode, python_dispatcher():
                return super().run_node(n)
        finally:
            self.module = self.real_module


def note(node: Node, value: Any) -> None:
    """Note in a node's meta what its value is."""
    meta = node.meta
    if isinstance(value, torch.Tensor):
        meta["tensor_meta"] = metadata_of(value)
    elif not isinstance(value, _NUMBERS):
        found = False

        def described(part: Any) -> Any:
            nonlocal found
            if isinstance(part, torch.Tensor):
                found = True
                return metadata_of(part)
            return part

        described_value = map_aggregate(value, described)
        if found:
            meta["tensor_meta"] = described_value
    meta["type"] = type(value)


_NUMBERS = (int, float)


def metadata_of(tensor: torch.Tensor) -> TensorMetadata:
    """What is known of a tensor."""
    is_sparse = tensor.layout is not torch.strided
    is_quantized = tensor.is_quantized
    return TensorMetadata(
        tensor.shape,
        tensor.dtype,
        tensor.requires_grad,
        () if is_sparse else tensor.stride(),
        None if is_sparse else _memory_format(tensor),
        is_quantized,
        _quantization(tensor) if is_quantized else {},
    )


def _memory_format(tensor: torch.Tensor) -> torch.memory_format | None:
    if tensor.is_contiguous():
        return torch.contiguous_format
    for dimensions, form in _CHANNELS_LAST:
        if tensor.dim() == dimensions and tensor.is_contiguous(memory_format=form):
            return form
    return None


_CHANNELS_LAST = ((4, torch.channels_last), (5, torch.channels_last_3d))


def _quantization(tensor: torch.Tensor) -> dict[str, Any]:
    scheme = tensor.qscheme()
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return {
            "qscheme": scheme,
            "scale": tensor.q_scale(),
            "zero_point": tensor.q_zero_point(),
        }
    return {
        "qscheme": scheme,
        # As numbers, because tensors would not be written down with the graph.
        "scale": _numbers(tensor.q_per_channel_scales()),
        "zero_point": _numbers(tensor.q_per_channel_zero_points()),
        "axis": tensor.q_per_channel_axis(),
    }


def _numbers(tensor: Any) -> list[Any]:
    return tensor.tolist()


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
