"""Which nodes a backend can run: rules, and how they are put together."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from fxls.engine.ir.node import Node
from fxls.engine.passes.shape_prop import TensorMetadata
from fxls.engine.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

TargetTypeName: TypeAlias = str
"""What `get_node_target` calls a target."""

SupportedArgumentDTypes: TypeAlias = (
    tuple[Sequence[Sequence[torch.dtype] | None], Mapping[str, Sequence[torch.dtype]]]
    | None
)
"""The dtypes that are right for each positional and each keyword argument.

None for all of them, or for one positional argument, says that any is right.
"""

SupportDict: TypeAlias = Mapping[TargetTypeName, SupportedArgumentDTypes]

IsNodeSupported: TypeAlias = Callable[[Mapping[str, torch.nn.Module], Node], bool]


class OperatorSupportBase(abc.ABC):
    """A rule that says which nodes a backend can run."""

    @abc.abstractmethod
    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: Node
    ) -> bool:
        """Whether it can run a node; `submodules` are those of the node's module."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """The rule of a table: operations, and which dtypes their arguments may have.

    Arguments that are no nodes, and such as the table does not name, are not looked at.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: Node
    ) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        checked: list[tuple[Any, Sequence[torch.dtype] | None]] = [
            *zip(node.args, dtypes[0], strict=False),
            *((node.kwargs.get(name), right) for name, right in dtypes[1].items()),
        ]
        return all(
            right is None or not isinstance(arg, Node) or _get_arg_dtype(arg) in right
            for arg, right in checked
        )


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """A function as a rule."""

    class OfFunction(OperatorSupportBase):
        def is_node_supported(
            self, submodules: Mapping[str, torch.nn.Module], node: Node
        ) -> bool:
            return is_node_supported(submodules, node)

    return OfFunction()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The rule that a node is right for all of some rules."""
    return create_op_support(
        lambda submodules, node: all(
            one.is_node_supported(submodules, node) for one in op_support
        )
    )


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The rule that a node is right for any of some rules."""
    return create_op_support(
        lambda submodules, node: any(
            one.is_node_supported(submodules, node) for one in op_support
        )
    )


class OpSupports:
    """Rules to put together with `chain` and `any_chain`."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """The rule that no input of a node has a dtype."""
        return create_op_support(
            lambda _, node: all(
                _get_arg_dtype(used) != dtype for used in node.all_input_nodes
            )
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """The rule that a node has none of some names."""
        return create_op_support(lambda _, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype of a node's value; its class when it is no tensor.

    Raises KeyError when neither is noted, because `ShapeProp` did not run.
    """
    noted = arg.meta.get("tensor_meta")
    if isinstance(noted, TensorMetadata):
        return noted.dtype
    if "type" not in arg.meta:
        raise KeyError(
            f"the dtype of {arg.name} is not known: run ShapeProp on the module first"
        )
    return arg.meta["type"]
