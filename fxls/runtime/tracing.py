"""Exact origins for the nodes that torch's own `symbolic_trace` makes.

torch keeps no place of the source for them. While this is in force each node's origin is
taken as our engine takes it, and kept beside the node, because whatever stands in its
`meta` is pickled, compared and hashed by others.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from types import CodeType, FunctionType
from typing import Any

import torch

from fxls.engine.origin import RawOrigin
from fxls.engine.trail import Trail, is_source
from fxls.runtime.patches import Patches
from fxls.runtime.untyped import fx

__all__ = ["Tracing"]


class Tracing:
    """What is known of graphs that were traced while `put_in` was in force."""

    def __init__(self) -> None:
        self._origins: weakref.WeakKeyDictionary[Any, RawOrigin] = (
            weakref.WeakKeyDictionary()
        )
        self._roots: weakref.WeakKeyDictionary[Any, tuple[str, str]] = (
            weakref.WeakKeyDictionary()
        )
        self._trails = _Trails()

    def origin(self, node: Any) -> RawOrigin | None:
        """The origin of a node of torch's FX, or of the node that it is a copy of."""
        return self._origins.get(node)

    def root(self, graph: Any) -> tuple[str, str] | None:
        """Module and qualified name of what was traced."""
        return self._roots.get(graph)

    def put_in(self, patches: Patches) -> None:
        """Take origins from now on."""
        tracer: Any = fx.Tracer
        base: Any = fx.proxy.TracerBase
        graph: Any = fx.Graph
        patches.put(tracer, "trace", self._trace(tracer.trace))
        patches.put(base, "create_node", self._create_node(base.create_node))
        patches.put(graph, "node_copy", self._node_copy(graph.node_copy))
        patches.put(graph, "__deepcopy__", self._deepcopy(graph.__deepcopy__))

    def _trace(self, original: Any) -> Any:
        @functools.wraps(original)
        def trace(tracer: Any, root: Any, *args: Any, **kwargs: Any) -> Any:
            trails = self._trails.by_tracer
            of_make_fx = type(tracer).__module__ == _MAKE_FX
            unpickled = isinstance(root, fx.graph_module._CodeOnlyModule)
            if of_make_fx or unpickled or id(tracer) in trails:
                # It notes stack traces, or traces generated code that is in no file, or
                # calls super().trace more than once.
                return original(tracer, root, *args, **kwargs)
            followed = _Followed(tracer, root, original.__code__)
            if isinstance(root, fx.GraphModule):
                of = (type(root).__module__, type(root).__name__)
                followed.name = self._roots.get(root._graph, of)
            trails[id(tracer)] = followed
            try:
                graph = original(tracer, root, *args, **kwargs)
            finally:
                del trails[id(tracer)]
            if followed.name is not None:
                self._roots[graph] = followed.name
            return graph

        return trace

    def _create_node(self, original: Any) -> Any:
        @functools.wraps(original)
        def create_node(
            tracer: Any, kind: str, target: Any, *args: Any, **kwargs: Any
        ) -> Any:
            node = original(tracer, kind, target, *args, **kwargs)
            followed = self._trails.by_tracer.get(id(tracer))
            if followed is not None:
                origin = followed.origin(kind, target)
                if origin is not None:
                    self._origins[node] = origin
            return node

        return create_node

    def _node_copy(self, original: Any) -> Any:
        @functools.wraps(original)
        def node_copy(graph: Any, node: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(graph, node, *args, **kwargs)
            origin = self._origins.get(node)
            if origin is not None:
                self._origins[made] = origin
            return made

        return node_copy

    def _deepcopy(self, original: Any) -> Any:
        @functools.wraps(original)
        def deepcopy(graph: Any, memo: Any = None) -> Any:
            made = original(graph, memo)
            if graph in self._roots:
                self._roots[made] = self._roots[graph]
            # The output alone is made and not copied.
            for old, new in zip(
                reversed(graph.nodes), reversed(made.nodes), strict=False
            ):
                if old in self._origins and new not in self._origins:
                    self._origins[new] = self._origins[old]
                break
            return made

        return deepcopy


_MAKE_FX = "torch.fx.experimental.proxy_tensor"
"""Where the tracer is that torch.export and AOTAutograd use."""


class _Trails(threading.local):
    """The traces that are under way in this thread, by identity of the tracer."""

    def __init__(self) -> None:
        self.by_tracer: dict[int, _Followed] = {}


class _Followed:
    """One trace under way."""

    def __init__(self, tracer: Any, root: Any, boundary: CodeType) -> None:
        self.name: tuple[str, str] | None = None
        self._code: CodeType | None = None
        if isinstance(root, torch.nn.Module):
            kind = type(root)
            self.name = (kind.__module__, kind.__qualname__)
            traced = getattr(kind, getattr(tracer, "traced_func_name", "forward"), None)
        else:
            traced = root
            code = getattr(inspect.unwrap(root), "__code__", None)
            # Others are wrappers of torch's; make_fx evaluates the text of one.
            if code and is_source(code) and code.co_filename != "<string>":
                self.name = (root.__module__ or "", root.__qualname__)
        if callable(traced):
            self._code = getattr(inspect.unwrap(traced), "__code__", None)
        overrides = [
            id(member.__code__)
            for kind in type(tracer).__mro__
            for member in vars(kind).values()
            if isinstance(member, FunctionType)
        ]
        self._trail = Trail((boundary,), frozenset(overrides))

    def origin(self, kind: str, target: Any) -> RawOrigin | None:
        """The origin of the node that is being made two frames further out."""
        if kind == "placeholder":
            code = self._code
            return None if code is None else (code, str(target).lstrip("*"), None)
        if kind == "output":
            return self._trail.returned()
        origin = self._trail.here(sys._getframe(2))  # pyright: ignore[reportPrivateUsage]  # the cheap way to it
        if kind == "get_attr" and origin is not None and len(origin) == 3:
            # torch makes the node of a buffer when an expression uses it.
            return (*origin, str(target).rpartition(".")[2])
        return origin
