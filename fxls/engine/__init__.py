"""The FX system: symbolic tracing, graphs, their transforms, and Python code from them.

API-compatible with ``torch.fx``: ``from fxls import engine as fx``. Every node knows
where in the source it came from. Imports torch; knows no editor and no store.
"""

from fxls.engine._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    symbolic_trace,
    wrap,
)
from fxls.engine.codegen import CodeGen
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Interpreter, Transformer
from fxls.engine.node import Node, map_arg
from fxls.engine.proxy import Proxy, TraceError
from fxls.engine.purity import has_side_effect

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "TraceError",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "symbolic_trace",
    "wrap",
]
