"""Graphs of torch.compile run node by node, where a backend would compile them away.

What inductor makes of a graph has no values of nodes. While somebody wants these, the
graph that Dynamo captured is run instead, as ``backend="eager"`` does. Backends that run
graphs, and those that are not torch's, are left as they are.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["node_by_node", "running"]

_log = logging.getLogger("fxls")


@contextlib.contextmanager
def node_by_node(output: Any, *, when: bool) -> Generator[None]:
    """Let Dynamo's `output` be compiled, in the block, by what runs its nodes."""
    own: Any = output.compiler_fn
    output.compiler_fn = running(own) if when else own
    try:
        yield
    finally:
        output.compiler_fn = own


def running(compiler: Any) -> Any:
    """A backend that runs the nodes of its graphs: this one, if it does."""
    inner = compiler
    while (wrapped := getattr(inner, "compiler_fn", None)) is not None:
        inner = wrapped
    name = str(getattr(inner, "compiler_name", getattr(inner, "__name__", "")))
    if name not in _COMPILING:
        return compiler
    if name not in _said:
        _said.add(name)
        _log.warning(
            "fxls: what %s would compile runs node by node, as torch.compile captured it,"
            " because values are watched",
            name,
        )
    return _run


def _run(gm: Any, _inputs: Any, **_options: Any) -> Callable[..., Any]:
    return gm.forward


_COMPILING = {"cudagraphs", "inductor", "torchscript", "tvm"}
_said: set[str] = set()
