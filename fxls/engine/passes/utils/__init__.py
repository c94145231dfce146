"""What passes are made of: matching, lifting and fusing parts of graphs."""

from fxls.engine.passes.utils.common import (
    HolderModule,
    compare_graphs,
    lift_subgraph_as_module,
)

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
