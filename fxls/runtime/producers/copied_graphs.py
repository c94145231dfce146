"""Graphs that torch makes of another one, node by node, without copying a node.

A copy of a node has the origin of its original, and most passes copy. A Transformer runs
a graph to record another one, and `split_module` makes nodes that look like others.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from types import FrameType
from typing import Any

import torch

from fxls.attempt import watched
from fxls.engine.origins.resolve import RawOrigin
from fxls.installed_torch import is_at_least
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.torch_tracer import TorchTracer
from fxls.runtime.torch_private import fx

__all__ = ["CopiedGraphs"]


class CopiedGraphs:
    """Lets nodes that stand for others have their origins, by its hooks."""

    def __init__(self, tracing: TorchTracer) -> None:
        self._tracing = tracing

    def hooks(self) -> tuple[Hook, ...]:
        """What makes graphs of others so."""
        return (
            Hook(
                "torch.fx.interpreter",
                _TRANSFORMED,
                {"Transformer.transform": around(self._transform, _TRANSFORMED)},
            ),
            self._hook_of_parts(),
        )

    def _hook_of_parts(self) -> Hook:
        if is_at_least(torch.__version__, "2.12"):
            module, name, watch = _SPLITTING, "_make_graph_module", self._part
        else:  # there `split_module` calls the class, which it has no name of its own for
            module, name = "torch.fx.graph_module", "GraphModule.__init__"
            watch = self._module
        return Hook(module, _PARTS, {name: around(watch, _PARTS)})

    def _transform(
        self, transformer: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        rerun = _Rerun(self._tracing)
        try:
            rerun.begin(transformer)
            return (yield)
        finally:
            rerun.end()

    def _part(self, *args: Any, **_: Any) -> Generator[None, Any, Any]:
        if (caller := _caller()) is not None:
            # The names that `split_module` has for the old nodes and the new ones.
            self._split(caller.f_locals, args[1])
        return (yield)

    def _module(
        self, _: Any, /, root: Any, graph: Any, *__: Any, **___: Any
    ) -> Generator[None, Any, Any]:
        caller = _caller()
        if caller is not None and caller.f_globals.get("__name__") == _SPLITTING:
            self._split(caller.f_locals, graph)
        return (yield)

    def _split(self, names: Mapping[str, Any], graph: Any) -> None:
        whole, part = names["m"], names.get("partition")
        if part is not None and part.graph is graph:
            new = part.environment
            self._tracing.made_of(whole.graph, graph, part.submod_name)
        else:
            made: dict[str, Any] = names["base_mod_env"]
            new = {n: made[n.name] for n in whole.graph.nodes if n.name in made}
            self._tracing.made_of(whole.graph, graph)
        for old, node in new.items():
            if node.graph is graph:
                self._tracing.stands_for(node, old)


def _caller() -> FrameType | None:
    """Who calls what is watched, behind all the hooks that watch it."""
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # there is no other way
    while frame is not None and frame.f_globals["__name__"] == watched.__module__:
        frame = frame.f_back
    return frame


_TRANSFORMED = "what a Transformer makes has no origins"
_SPLITTING = "torch.fx.passes.split_module"
_PARTS = "the parts of a split module have no origins"


class _Rerun:
    """A Transformer that runs: what it records stands for the node that it is at."""

    def __init__(self, tracing: TorchTracer) -> None:
        self._tracing = tracing
        self._undo: list[Any] = []
        self._node: Any = None

    def begin(self, transformer: Any) -> None:
        """Follow it; until `end`."""
        old, new = transformer.module.graph, transformer.new_graph
        self._tracing.made_of(old, new)
        run = transformer.run_node
        had = transformer.__dict__.get("run_node")

        def run_node(node: Any) -> Any:
            self._node = node
            result = run(node)
            if isinstance(result, fx.Proxy):  # of a placeholder, which no tracer makes
                self._tracing.stands_for(result.node, node)
            return result

        transformer.run_node = run_node
        self._undo.append(lambda: _put_back(transformer, run_node, had))
        self._undo.append(self._tracing.following(transformer.tracer, self))

    def end(self) -> None:
        """Follow it no more."""
        while self._undo:
            self._undo.pop()()

    def origin(self, kind: str, target: Any) -> RawOrigin | None:
        """The origin of a node that is being recorded."""
        return None if self._node is None else self._tracing.origin(self._node)


def _put_back(transformer: Any, ours: Any, had: Any) -> None:
    if transformer.__dict__.get("run_node") is ours:
        if had is None:
            del transformer.run_node
        else:
            transformer.run_node = had
