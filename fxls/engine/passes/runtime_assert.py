"""Checks of sizes that depend on data, written into the graph."""

from __future__ import annotations

from typing import Any

from fxls.engine.graph_module import GraphModule
from fxls.engine.torch_fx.bridge import through_torch_fx

__all__ = ["insert_deferred_runtime_asserts"]


def insert_deferred_runtime_asserts(
    gm: GraphModule,
    shape_env: Any,
    name: str,
    export: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> None:
    """Insert what `shape_env` found out that must hold, where it can be checked.

    - A ``ShapeEnv`` is an object of torch's FX, with symbols and rules of its own, and a
      graph for which one has anything to say was made there. So torch's own pass does
      the work: the graph crosses over and comes back, with new nodes.
    - `name` is that of the graph in torch's logs.
    """
    through_torch_fx(
        gm,
        "passes.runtime_assert",
        "insert_deferred_runtime_asserts",
        shape_env,
        name,
        export,
    )
