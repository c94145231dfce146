"""What passes are made of: matching, lifting and fusing parts of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxls.engine.late_names import late_modules
from fxls.engine.passes.utils.common import (
    HolderModule,
    compare_graphs,
    lift_subgraph_as_module,
)

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]

if not TYPE_CHECKING:
    __getattr__ = late_modules(__name__)
