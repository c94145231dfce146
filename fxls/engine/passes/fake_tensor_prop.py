"""What the values of a graph are, found without computing them: fake tensors."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch.nn import Module

from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Interpreter
from fxls.engine.ir.arguments import map_aggregate
from fxls.engine.ir.node import Node
from fxls.engine.torch_private import FakeTensor, FakeTensorMode, fast_detach

__all__ = ["FakeTensorProp", "faked_state"]


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors and notes each value in its node's ``meta["val"]``.

    - Nothing is computed and no memory taken; shapes, dtypes, strides and which values
      share storage are those of a run.
    - Parameters and buffers are faked once, and shared by all nodes; the module has its
      own again when the run ends, and is not to be used by another thread before.
    - Nodes share nothing with the values of the run: changes in place do not reach the
      noted ones.
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        """Use `mode`, which inputs may come from, or else a new one."""
        super().__init__(module)
        self._mode: Any = FakeTensorMode() if mode is None else mode
        self._mode.epoch += 1
        self._mode.reset_nt_tensor_id_counter()
        self._subgraphs: set[Any] = set()

    def propagate(self, *args: Any) -> Any:
        """Run with inputs as the graph takes them; real tensors are faked first."""
        return self.propagate_dont_convert_inputs(
            *[
                self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a
                for a in args
            ]
        )

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run with fake inputs."""
        with faked_state(self.module, self._mode), self._mode:
            return super().run(*args)

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        shape_env = self._mode.shape_env
        symbols: Any = shape_env and sys.modules[type(shape_env).__module__]
        if symbols:
            symbols.rebind_unbacked(shape_env, n, result)
        noted = map_aggregate(result, self._noted)
        if noted is not None:
            n.meta["val"] = noted
            bound = symbols and symbols.compute_unbacked_bindings(shape_env, result)
            if bound:
                n.meta["unbacked_bindings"] = bound
        return result

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        name = getattr(target, "_name", None)
        if name == "invoke_subgraph" and args[1] not in self._subgraphs:
            # Once through the subgraph itself, so that its nodes have values as well.
            self._subgraphs.add(args[1])
            inner = FakeTensorProp(args[0], self._mode)
            return inner.propagate_dont_convert_inputs(*args[2:])
        return super().call_function(target, args, kwargs)

    def _noted(self, value: Any) -> Any:
        if isinstance(value, FakeTensor):
            fake: Any = value
            return fast_detach(fake.fake_mode, fake)
        if isinstance(value, torch.Tensor):
            fake = self._mode.from_tensor(value, static_shapes=True)
            return fast_detach(self._mode, fake)
        return value if isinstance(value, _NUMBERS) else None


_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)


@contextmanager
def faked_state(module: Module, mode: Any) -> Generator[None]:
    """A block in which every parameter and buffer is a fake one.

    What a submodule assigns to its own tables meanwhile is undone at the end.
    """
    tables = [
        table
        for one in module.modules()
        for table in (one._parameters, one._buffers)
        if table
    ]
    real = [table.copy() for table in tables]
    try:
        for table in cast("list[dict[str, Any]]", tables):
            for name, value in table.items():
                if value is not None and not isinstance(value, FakeTensor):
                    table[name] = mode.from_tensor(value, static_shapes=True)
        yield
    finally:
        for table, before in zip(tables, real, strict=True):
            table.clear()
            table.update(cast("Any", before))
