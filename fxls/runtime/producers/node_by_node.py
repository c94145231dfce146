"""Graphs of torch.compile run node by node, where a backend would compile them away.

What inductor makes of a graph has no values of nodes. While somebody wants these, or to
stop at a node, the graph that Dynamo captured is run instead, as ``backend="eager"``
does. Backends that are not torch's are left as they are.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from fxls.said_once import SaidOnce

__all__ = [
    "BROKEN_INTO",
    "WATCHED",
    "node_by_node",
    "not_run",
    "not_run_either",
    "running",
]

WATCHED = "because values are watched"
BROKEN_INTO = "because there is a breakpoint in it"

_log = logging.getLogger("fxls")


@contextlib.contextmanager
def node_by_node(output: Any, because: str) -> Generator[None]:
    """Let Dynamo's `output` be compiled, in the block, by what runs its nodes.

    `because` says why; where it is empty the backend is left as it is.
    """
    own: Any = output.compiler_fn
    output.compiler_fn = running(own, because)
    token = _because.set(because)
    try:
        yield
    finally:
        _because.reset(token)
        output.compiler_fn = own


def running(compiler: Any, because: str = "") -> Any:
    """A backend that runs the nodes of its graphs: this one, if it does.

    Where nothing is said, for the reason for which the graph at hand is to be run so.
    """
    because = because or _because.get()
    name = _name(compiler)
    if not because or name not in (
        _COMPILING if because == WATCHED else {*_COMPILING, *_LOWERING}
    ):
        return compiler
    if _said.is_first(name, because):
        _log.warning(
            "fxls: what %s would compile runs node by node, as torch.compile captured it,"
            " %s",
            *(name, because),
        )
    return _run


def not_run(compiler: Any) -> str:
    """Why no node of a graph runs that this backend compiled, and what to do; empty for
    one that may run them.
    """
    name = _name(compiler)
    if name in _COMPILING:
        return f"{name} has compiled the graph, and its nodes do not run; {_AGAIN}"
    if name in _LOWERING:
        return f"{name} runs the graphs that it made of this one; {_AGAIN}"
    return ""


def not_run_either(captured: Path) -> str:
    """The same of a graph that a backend made of a captured one on its way."""
    return (
        "torch.compile made this graph on its way, and its nodes do not run; set the"
        f" breakpoint in {captured.name}, the graph that it captured, and call"
        " torch.compiler.reset()"
    )


def _name(compiler: Any) -> str:
    while (wrapped := getattr(compiler, "compiler_fn", None)) is not None:
        compiler = wrapped
    return str(getattr(compiler, "compiler_name", getattr(compiler, "__name__", "")))


def _run(gm: Any, _inputs: Any, **_options: Any) -> Callable[..., Any]:
    return gm.forward


_COMPILING = {"cudagraphs", "inductor", "torchscript", "tvm"}
_LOWERING = {
    *("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner"),
}
"""They run the nodes of the graph that they make of this one."""

_AGAIN = "after torch.compiler.reset() the next call stops here"

_because: ContextVar[str] = ContextVar("fxls_node_by_node", default="")
"""Why the graph that is being compiled is to be run node by node."""

_said = SaidOnce()
