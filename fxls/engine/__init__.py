"""The FX system: symbolic tracing, graphs, their transforms, and Python code from them.

API-compatible with ``torch.fx``: ``from fxls import engine as fx``. Every node knows
where in the source it came from. Imports torch; knows no editor and no store.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fxls.engine._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    symbolic_trace,
    wrap,
)
from fxls.engine.code.codegen import CodeGen
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Interpreter, Transformer
from fxls.engine.ir.purity import has_side_effect
from fxls.engine.node import Node, map_arg
from fxls.engine.proxy import Proxy, TraceError

if TYPE_CHECKING:
    from fxls.engine.by_example import ExampleTracer, trace_by_example
    from fxls.engine.leaves import trace_around
    from fxls.engine.subgraph_rewriter import replace_pattern
    from fxls.engine.torch_fx.bridge import from_torch_fx, to_torch_fx

__all__ = [
    "PH",
    "CodeGen",
    "ExampleTracer",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "TraceError",
    "Tracer",
    "Transformer",
    "from_torch_fx",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "to_torch_fx",
    "trace_around",
    "trace_by_example",
    "wrap",
]

_LATE = {
    "ExampleTracer": ("tracing.by_example", "ExampleTracer"),
    "from_torch_fx": ("torch_fx.bridge", "from_torch_fx"),
    "replace_pattern": ("subgraph_rewriter", "replace_pattern"),
    "to_torch_fx": ("torch_fx.bridge", "to_torch_fx"),
    "trace_around": ("leaves", "trace_around"),
    "trace_by_example": ("by_example", "trace_by_example"),
    # What pickles name, for ever; the functions behind may move.
    "_Around": ("leaves", "_Around"),
    "_ForeignCodeGen": ("torch_fx.codegen", "ForeignCodeGen"),
    "_ModuleStack": ("origins.module_scopes", "ModuleStack"),
    "_blank_graph": ("ir.serialization", "blank_graph"),
    "_blank_module": ("module.pickling", "blank_module"),
    "_packaged_module": ("module.pickling", "packaged_module"),
    "_code_of_text": ("module.compile", "code_of_text"),
    "_fill_graph": ("ir.serialization", "fill_graph"),
    "_node_at": ("ir.pickled_node", "node_at"),
    "_value_named": ("ir.serialization", "value_named"),
}
"""Where names are that few programs need: importing them is a third of the whole."""

_LATE_MODULES = frozenset(
    {
        "annotate",
        "config",
        "experimental",
        "operator_schemas",
        "passes",
        "subgraph_rewriter",
        "traceback",
    }
)
"""What programs reach as ``fx.subgraph_rewriter`` without importing it."""


def __getattr__(name: str) -> Any:
    """Import what is asked for the first time."""
    if name in _LATE_MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATE[name]
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value
