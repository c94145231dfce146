"""A breakpoint at the start of generated code."""

from __future__ import annotations

from fxls.engine.code.codegen import TransformCode
from fxls.engine.graph_module import GraphModule

__all__ = ["set_trace"]

_BREAK = "import pdb; pdb.set_trace()\n"


def set_trace(gm: GraphModule) -> GraphModule:
    """Make a module stop in `pdb` whenever it runs; returns it.

    The code is made once, with the stop in it: the next `recompile` takes it out.
    """

    def stopping(before: TransformCode | None) -> TransformCode:
        return lambda body: [_BREAK, *(before(body) if before else body)]

    with gm.graph.on_generate_code(stopping):
        _ = gm.recompile().src  # written now: behind the block there is no stop in it
    return gm
