"""Types for the values of a graph, from the signatures of what it calls."""

from __future__ import annotations

import inspect
from typing import Any, cast

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Transformer
from fxls.engine.operator_schemas import dispatched_by_bool
from fxls.engine.schema_types import python_type
from fxls.engine.torch_private import infer_type
from fxls.engine.tracing import proxy

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Gives nodes without a type the one that is known of what they call or read.

    Known are the annotated results of ``torch.nn.functional`` and of the modules in
    `torch.nn`, and the types of attributes.
    """

    def __init__(
        self,
        module: GraphModule,
        annotate_functionals: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        annotate_modules: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        annotate_get_attrs: bool = True,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        self.annotate_get_attrs = annotate_get_attrs
        self.annotate_modules = annotate_modules
        self.annotate_functionals = annotate_functionals
        super().__init__(module)

    def get_attr(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            inferred = infer_type(self.fetch_attr(target))
            if inferred.success():
                _annotate(result, python_type(inferred.type()))
        return result

    def call_module(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        submodule = self.fetch_attr(target)
        result = super().call_module(target, args, kwargs)
        kind = cast("type[Any]", type(submodule))
        if self.annotate_modules and getattr(torch.nn, kind.__name__, None) is kind:
            _annotate(result, _returned(submodule.forward))
        return result

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = super().call_function(target, args, kwargs)
        if self.annotate_functionals and target.__module__ == "torch.nn.functional":
            options = dispatched_by_bool(target) or (target,)
            returned = {_returned(option) for option in options}
            if len(returned) == 1:
                _annotate(result, returned.pop())
        return result


def _annotate(result: Any, kind: Any) -> None:
    if isinstance(result, proxy.Proxy) and kind is not None and not result.node.type:
        result.node.type = kind


def _returned(function: Any) -> Any:
    """The annotation of a function's result; None without one."""
    try:
        annotation = inspect.signature(function).return_annotation
    except (ValueError, TypeError):
        return None
    return None if annotation is inspect.Signature.empty else annotation
