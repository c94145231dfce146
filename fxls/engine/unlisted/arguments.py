"""What arguments of nodes are, and how they and their types are written."""

from __future__ import annotations

import math
from typing import Any, Union, cast

import torch

from fxls.engine.ir.arguments import Argument, map_aggregate
from fxls.engine.ir.node_text import format_arg, type_text
from fxls.engine.ir.purity import side_effectful as _side_effectful_functions
from fxls.engine.ir.target_names import qualified_name as _get_qualified_name
from fxls.engine.passes.shape_prop import TensorMetadata, metadata_of
from fxls.engine.schema_types import python_type as _torchscript_type_to_python_type
from fxls.engine.torch_private import OpOverload

__all__ = [
    "Argument",
    "BaseArgumentTypes",
    "_extract_tensor_metadata",
    "_format_arg",
    "_get_qualified_name",
    "_side_effectful_functions",
    "_torchscript_type_to_python_type",
    "_type_repr",
    "base_types",
    "map_aggregate",
]

base_types: tuple[type, ...] = (
    *(str, int, float, bool, complex),
    *(torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout),
    *(OpOverload, torch.SymInt, torch.SymBool, torch.SymFloat),
)
"""The classes whose values stand for themselves in a node."""
BaseArgumentTypes: Any = Union[base_types]  # noqa: UP007 - a tuple of them


def _format_arg(arg: object, max_list_len: float = math.inf) -> str:
    """An argument with its nodes as ``%name``; of a list only so many elements."""
    value: Any = arg
    if hasattr(value, "_custom_fx_repr_fn"):
        return value._custom_fx_repr_fn()
    whole = cast("list[Any]", arg) if isinstance(arg, list) else []
    if len(whole) > max_list_len:
        shown = format_arg(whole[: int(max_list_len)])
        return f"{shown[:-1]}, ...[total_len={len(whole)}]]"
    return format_arg(value)


def _type_repr(obj: object) -> str:
    """A type as generated code writes it in an annotation."""
    return type_text(obj)


def _extract_tensor_metadata(
    result: torch.Tensor,
    include_contiguity: bool = True,  # noqa: FBT001, FBT002 - FX's signature
) -> TensorMetadata:
    """What is known of a tensor; without its memory format, when that is not asked."""
    known = metadata_of(result)
    return known if include_contiguity else known._replace(memory_format=None)
