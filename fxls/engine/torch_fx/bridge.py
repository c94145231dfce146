"""Graph modules of torch's own FX become ours, and ours become torch's.

Both ways share every parameter, buffer and submodule, and copy the graph. Graphs of
`torch.compile` and `torch.export` can so be changed by this engine and go on to what
torch compiles them with.

A graph module inside the module, as the branches of ``torch.cond`` are, crosses as well.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.names import Namespace
from fxls.engine.ir.node import Node
from fxls.engine.torch_fx import codegen as foreign_codegen
from fxls.engine.tracing.tracer import Tracer

__all__ = ["from_torch_fx", "through_torch_fx", "to_torch_fx"]

_fx: Any = torch.fx
"""torch's own FX, which `import torch` has loaded: its objects are made of its classes.
The engine names it nowhere else."""


def from_torch_fx(gm: torch.nn.Module) -> GraphModule:
    """The same module with a graph of this engine; `gm` stays as it is."""
    if isinstance(gm, GraphModule) or not hasattr(getattr(gm, "graph", None), "nodes"):
        raise TypeError(
            "from_torch_fx takes a torch.fx.GraphModule, not"
            f" {type(gm).__module__}.{type(gm).__qualname__}"
        )
    return _Crossing(_INTO_OURS).module(gm)


def to_torch_fx(gm: GraphModule) -> Any:
    """The same module as a ``torch.fx.GraphModule``; `gm` stays as it is.

    A node without a stack trace gets that of its origin, which torch shows in errors.
    """
    if not isinstance(gm, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
        raise TypeError(
            "to_torch_fx takes a GraphModule of fxls.engine, not"
            f" {type(gm).__module__}.{type(gm).__qualname__}"
        )
    return _Crossing(_INTO_TORCH).module(gm)


def through_torch_fx(
    gm: GraphModule, module: str, function: str, *args: Any, **kwargs: Any
) -> Any:
    """Change a graph by a function of torch's FX, which gets the module first.

    For what is about objects that only torch's FX has. `gm` has new nodes then; returns
    what the function returns. `module` is the path below ``torch.fx``.
    """
    refuse_foreign(gm)
    theirs = to_torch_fx(gm)
    found: Any = importlib.import_module(f"{_fx.__name__}.{module}")
    result = getattr(found, function)(theirs, *args, **kwargs)
    gm.graph = from_torch_fx(theirs).graph
    return result


@dataclass(frozen=True, slots=True)
class _Side:
    """What modules and graphs are made of, where they are made."""

    source: type[torch.nn.Module]
    """The graph modules of the other side."""
    module: Callable[..., Any]
    graph: Callable[[], Any]
    codegen: Callable[[Any], Any]
    tracers: Mapping[Any, Any]
    """Which class of tracer stands for one of the other side; without, there is none."""
    take_notes: Callable[[Any, Any], None]
    """Gets a new node and the one that it stands for."""
    take_names: Callable[[Any, Any], None]
    """Gets the new namespace and the old one, which knows the names of erased nodes."""


class _Crossing:
    """One crossing: each module and node is made once, however often it is used."""

    def __init__(self, side: _Side) -> None:
        self._side = side
        self._modules: dict[int, torch.nn.Module] = {}

    def module(self, old: torch.nn.Module) -> Any:
        """The module of the other side that stands for a graph module."""
        made = self._modules.get(id(old))
        if made is not None:
            return made
        new: Any = self._side.module(
            torch.nn.Module(), self._side.graph(), type(old).__name__
        )
        self._modules[id(old)] = new
        self._fill(new, old)
        graph = self._graph(cast("Any", old).graph)
        new.graph = graph
        new.__dict__["_tracer_cls"] = _as_module_keeps(graph._tracer_cls)
        return new

    def _fill(self, new: torch.nn.Module, old: torch.nn.Module) -> None:
        """Let one module own what another one owns."""
        for key, value in old.__dict__.items():
            if key == "_modules":
                for name, child in old._modules.items():
                    new._modules[name] = child and self._child(child)
            elif key in _OF_THE_SYSTEM:
                continue
            elif key in _TABLES or "_hooks" in key:
                new.__dict__[key] = value.copy()
            else:
                new.__dict__[key] = value

    def _child(self, old: torch.nn.Module) -> torch.nn.Module:
        if isinstance(old, self._side.source):
            return self.module(old)
        if type(old) is not torch.nn.Module or not _holds(old, self._side.source):
            return old
        # A holder that a graph module made for a path: another one, so that an edit of
        # the submodules on this side is none on that side.
        made = self._modules.get(id(old))
        if made is None:
            made = self._modules[id(old)] = torch.nn.Module()
            self._fill(made, old)
        return made

    def _graph(self, old: Any) -> Any:
        new = self._side.graph()
        new._codegen = self._side.codegen(old._codegen)
        new._co_fields = dict(old._co_fields)
        nodes: dict[int, Any] = {}
        for node in old.nodes:
            made = new.create_node(
                node.op,
                node.target,
                tuple([self._argument(a, nodes) for a in node.args]),
                {key: self._argument(a, nodes) for key, a in node.kwargs.items()},
                node.name,
                node.type,
            )
            if made.name != node.name:  # somebody set a name that no namespace gives
                made.name = node.name
            made.meta = dict(node.meta)
            made.__dict__.update(vars(node))
            self._side.take_notes(made, node)
            nodes[id(node)] = made
        self._side.take_names(new._graph_namespace, old._graph_namespace)
        self._take_tracer(new, old)
        return new

    def _take_tracer(self, new: Any, old: Any) -> None:
        """Note who traced a graph, and what, for the side that has a word for it."""
        tracer, traced = old._tracer_cls, getattr(old, "traced", None)
        own_tracer, own_traced = _before_crossing.get(old, (None, None))
        _before_crossing[new] = (tracer, traced or own_traced)
        new._tracer_cls = self._side.tracers.get(tracer)
        if tracer is None:
            new._tracer_cls = own_tracer
        if isinstance(new, Graph):
            new.traced = own_traced

    def _argument(self, a: Any, nodes: Mapping[int, Any]) -> Any:
        made = nodes.get(id(a))
        if made is not None:
            return made
        if isinstance(a, tuple):
            parts = [self._argument(x, nodes) for x in cast("tuple[Any, ...]", a)]
            kind: Any = type(cast("object", a))
            return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
        if isinstance(a, list):
            return [self._argument(x, nodes) for x in cast("list[Any]", a)]
        if isinstance(a, dict):
            items = cast("dict[Any, Any]", a).items()
            return {key: self._argument(x, nodes) for key, x in items}
        if isinstance(a, slice):
            ends = cast("slice[Any, Any, Any]", a)
            return slice(
                self._argument(ends.start, nodes),
                self._argument(ends.stop, nodes),
                self._argument(ends.step, nodes),
            )
        return a


def _holds(module: torch.nn.Module, kind: type[torch.nn.Module]) -> bool:
    return any(isinstance(child, kind) for child in module.modules())


def _as_module_keeps(tracer: Any) -> Any:
    """The class of a tracer, unless it cannot be found again when it is unpickled."""
    return None if tracer is None or "<locals>" in tracer.__qualname__ else tracer


def _notes_of_torch(new: Node, old: Any) -> None:
    """Take over the origin of a node that has crossed before."""
    frames, traced = new.__dict__.pop(_ORIGIN, (None, None))
    new._frames = frames
    if traced is not None and new.meta.get("stack_trace") == traced:
        del new.meta["stack_trace"]


def _notes_for_torch(new: Any, old: Node) -> None:
    """Let a node keep its origin, which torch cannot hold, and its stack trace."""
    if old._frames is None:
        return
    traced = None
    if new.meta.get("stack_trace") is None:
        traced = old.stack_trace
        if traced is not None:
            new.meta["stack_trace"] = traced
    new.__dict__[_ORIGIN] = (old._frames, traced)


def _names_of_torch(new: Namespace, old: Any) -> None:
    new._used |= old._used_names
    new._last.update(old._base_count)


def _names_for_torch(new: Any, old: Namespace) -> None:
    new._used_names |= old._used
    new._base_count.update(old._last)


_before_crossing: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = (
    weakref.WeakKeyDictionary()
)
"""The class of the tracer that a graph had on the other side, and what was traced there:
a tracer of somebody's own has no counterpart, and gets its graph back on its return."""

_ORIGIN = "_fxls_origin"
"""The attribute of a node of torch's in which our origin waits for its return."""

_TABLES = frozenset(
    {"_parameters", "_buffers", "_non_persistent_buffers_set", "meta", "_tracer_extras"}
)
"""Tables that each module has for itself."""

_OF_THE_SYSTEM = frozenset(
    {
        "_code",
        "_compiled_call_impl",
        "_create_node_hooks",
        "_deepcopy_hooks",
        "_erase_node_hooks",
        "_forward_code",
        "_graph",
        "_lineno_map",
        "_prologue_start",
        "_replace_hooks",
        "_tracer_cls",
    }
)
"""What each side keeps for its graph; hooks of nodes take the nodes of their own side."""

_INTO_OURS = _Side(
    source=_fx.GraphModule,
    module=GraphModule,
    graph=Graph,
    codegen=lambda foreign: foreign_codegen.from_torch(foreign, _fx.graph),
    tracers={_fx.Tracer: Tracer},
    take_notes=_notes_of_torch,
    take_names=_names_of_torch,
)

_INTO_TORCH = _Side(
    source=GraphModule,
    module=_fx.GraphModule,
    graph=_fx.Graph,
    codegen=lambda codegen: foreign_codegen.to_torch(codegen, _fx.graph),
    tracers={Tracer: _fx.Tracer},
    take_notes=_notes_for_torch,
    take_names=_names_for_torch,
)
