"""Parameters while a program is traced: their shape is known, as their values are not."""

from __future__ import annotations

import torch

from fxls.engine.ir.node import Node
from fxls.engine.lasting import lasting
from fxls.engine.tracing.proxy import Proxy, TracerBase

__all__ = ["ParameterProxy"]


@lasting("fxls.engine.proxy")
class ParameterProxy(Proxy):
    """A parameter whose shape is a plain value, so that `if` and `range` may use it."""

    def __init__(
        self, tracer: TracerBase, node: Node, name: str, param: torch.nn.Parameter
    ) -> None:
        if not isinstance(param, torch.nn.Parameter):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            raise AssertionError(f"a ParameterProxy is of a Parameter, not {param!r}")
        super().__init__(node, tracer)
        self.name = name
        self.param = param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def size(self) -> torch.Size:
        return self.param.size()

    @property
    def shape(self) -> torch.Size:
        return self.param.shape
