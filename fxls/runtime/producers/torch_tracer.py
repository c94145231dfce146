"""Exact origins for the nodes that torch's own `symbolic_trace` makes.

torch keeps no place of the source for them. While this is in force each node's origin is
taken as our engine takes it, and kept beside the node, because whatever stands in its
`meta` is pickled, compared and hashed by others.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Protocol, cast

import torch

from fxls.engine.origins.from_frames import FrameOrigins, is_source
from fxls.engine.origins.resolve import RawOrigin, merge
from fxls.engine.written_class import written_class
from fxls.installed_torch import private
from fxls.listing import Parent
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.capture import is_hushed, parents_by
from fxls.runtime.producers.places.stack_traces import origin_of
from fxls.runtime.producers.program_inputs import input_origin
from fxls.runtime.torch_private import fx, is_compiling

__all__ = ["PICKLED_NAME", "MadeBy", "NodeMaker", "TorchTracer"]

_PASSES = 8
"""So many passes behind one another are kept of a node."""


class MadeBy(NamedTuple):
    """How a node came to be that nobody captured."""

    passes: tuple[str, ...]
    """The last one first."""
    nodes: tuple[str, ...]
    """What the last one made it from."""


_ENDS = ("placeholder", "output")
"""What may have an origin that no trace noted."""


class TorchTracer:
    """What is known of graphs that were traced while `hooks` were in force."""

    def __init__(self) -> None:
        self._origins: weakref.WeakKeyDictionary[Any, RawOrigin] = (
            weakref.WeakKeyDictionary()
        )
        self._roots: weakref.WeakKeyDictionary[Any, tuple[str, str]] = (
            weakref.WeakKeyDictionary()
        )
        self._parents: weakref.WeakKeyDictionary[Any, tuple[Parent, ...]] = (
            weakref.WeakKeyDictionary()
        )
        self._stages: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._returned: weakref.WeakKeyDictionary[Any, RawOrigin] = (
            weakref.WeakKeyDictionary()
        )
        """The origin of the output of a graph that has none yet."""
        self._made: weakref.WeakKeyDictionary[Any, MadeBy] = weakref.WeakKeyDictionary()
        self._copied: weakref.WeakKeyDictionary[Any, str | None] = (
            weakref.WeakKeyDictionary()
        )
        """By graphs that were put together of copied nodes, the file of the first's."""
        self._trails = _Trails()

    def origin(self, node: Any) -> RawOrigin | None:
        """The origin of a node of torch's FX, or of the node that it stands for."""
        origin = self._origins.get(node)
        if origin is None:
            op = node.op
            if op == "placeholder":
                return input_origin(node)
            if op == "output":
                return self._returned.get(node.graph)
        return origin

    def origins(self, nodes: Iterable[Any]) -> list[RawOrigin | None]:
        """The origin of each node, in half of the time of asking for one at a time."""
        # Each look at a dictionary of weak references is two calls.
        held: dict[Any, RawOrigin] = cast("Any", self._origins).data
        return [
            self.origin(node)
            if (origin := held.get(weakref.ref(node))) is None and node.op in _ENDS
            else origin
            for node in nodes
        ]

    def root(self, graph: Any) -> tuple[str, str] | None:
        """Module and qualified name of what was traced, or of what the listing of a
        graph that was not traced is called after.
        """
        if (root := self._roots.get(graph)) is not None:
            return root
        listed = parents_by(graph)[:1]
        return next(
            ((one.identity.module, one.identity.qualname) for one in listed), None
        )

    def stage(self, graph: Any) -> str:
        """Which part of what was traced a graph is; empty for all of it."""
        return self._stages.get(graph, "")

    def parents(self, graph: Any) -> tuple[Parent, ...]:
        """The listings that a graph was made from, the nearest first."""
        return self._parents.get(graph, ())

    def made_from(self, graph: Any) -> str | None:
        """The file of the listing that a graph is of, was made from, or has the first
        of its nodes from; None for a part of one.
        """
        known = parents_by(graph) or self.parents(graph)
        if self.stage(graph):
            return None
        return known[0].file if known else self._copied.get(graph)

    def made_of(self, old: Any, new: Any, part: str = "") -> None:
        """Let a graph be one that was made of another one, or of a part of it."""
        # A graph that never was a listing stands for what it was made from.
        if parents := parents_by(old) or self.parents(old):
            self._parents[new] = parents
        stage = ", ".join(filter(None, (self.stage(old), part)))
        self._name(new, self.root(old), stage)
        end = None if part else next(iter(reversed(old.nodes)), None)
        if end is not None and (origin := self.origin(end)) is not None:
            self._returned[new] = origin

    def _name(self, graph: Any, root: tuple[str, str] | None, stage: str) -> None:
        if root is not None:
            self._roots[graph] = root
        if stage:
            self._stages[graph] = stage

    def stands_for(self, new: Any, old: Any) -> None:
        """Let a node have the origin of another one, unless it has its own."""
        origin = self.origin(old)
        if origin is not None:
            self._origins.setdefault(new, origin)

    def made_by(self, nodes: Sequence[Any]) -> tuple[MadeBy | None, ...]:
        """Which passes made each node, None for one that was captured; empty while no
        pass has made any.
        """
        made: Mapping[Any, MadeBy] = self._made
        if len(made) < len(nodes):  # each look at what is held weakly is two calls
            made = dict(made.items())
        return tuple(map(made.get, nodes)) if made else ()

    def note_made(self, node: Any, name: str, olds: Sequence[Any]) -> None:
        """Let a pass have made a node in place of others, whose origins it then has.

        Whoever replaces several nodes by one gives it the trace of one of them at most.
        """
        known = [one for old in olds if (one := self._made.get(old)) is not None]
        earlier = known[0].passes if known else ()
        passes = (name, *earlier[: _PASSES - 1])
        self._made[node] = MadeBy(passes, tuple(old.name for old in olds))
        if node not in self._origins:
            others, own = olds, None
            if trace := node.meta.get("stack_trace"):
                own = origin_of(node.meta)
                others = [one for one in olds if one.meta.get("stack_trace") != trace]
            merged = merge((own, *map(self.origin_of_any, others)))
            if merged is not None:
                self._origins[node] = merged

    def origin_of_any(self, node: Any) -> RawOrigin | None:
        """The origin of a node of whoever made it."""
        return self.origin(node) or origin_of(node.meta)

    def following(self, tracer: Any, followed: NodeMaker) -> Callable[[], object]:
        """Ask `followed` for the origins of what a tracer makes in this thread.

        What is returned ends it.
        """
        trails = self._trails.by_tracer
        trails[id(tracer)] = followed
        return lambda: trails.pop(id(tracer), None)

    def hooks(self) -> tuple[Hook, ...]:
        """What makes and copies nodes."""
        copied = "copies of nodes of torch.fx have no exact origins"
        return (
            Hook(
                "torch.fx._symbolic_trace",
                _WITHOUT,
                {"Tracer.trace": self._tracing},
            ),
            Hook(
                "torch.fx.proxy",
                _WITHOUT,
                {"TracerBase.create_node": around(self._create_node, _WITHOUT)},
            ),
            Hook(
                "torch.fx.graph",
                copied,
                {"Graph.node_copy": around(self._node_copy, copied)},
            ),
            Hook(
                "torch.fx.graph",
                "the outputs of copied graphs of torch.fx have no origins",
                {"Graph.__deepcopy__": around(self._deepcopy, copied)},
            ),
        )

    def _tracing(self, original: Any) -> Any:
        # Dynamo wraps it in what it wraps much else in that make_fx runs.
        boundary = inspect.unwrap(original).__code__

        def trace(
            tracer: Any, /, root: Any, *_: Any, **__: Any
        ) -> Generator[None, Any, Any]:
            trails = self._trails.by_tracer
            if isinstance(root, _code_only()):
                # It traces generated code that is in no file.
                held = root.__dict__
                name = _pickled_name(held.pop(PICKLED_NAME, None))
                graph = yield
                self._name(graph, *name)
                return graph
            if _is_torchs(tracer) or id(tracer) in trails:
                return (yield)  # which perhaps calls super().trace more than once
            followed = _Followed(tracer, root, boundary)
            if isinstance(root, fx.GraphModule):
                of = (type(root).__module__, type(root).__name__)
                followed.name = self.root(root._graph) or of
            end = self.following(tracer, followed)
            try:
                graph = yield
            finally:
                end()
            if followed.name is not None:
                self._roots[graph] = followed.name
            return graph

        return around(trace, _WITHOUT)(original)

    def _create_node(
        self, tracer: Any, /, kind: str, target: Any, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        node = yield
        followed = self._trails.by_tracer.get(id(tracer))
        if followed is not None:
            origin = followed.origin(kind, target)
            if origin is not None:
                self._origins[node] = origin
        return node

    def _node_copy(
        self, graph: Any, /, node: Any, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        made = yield
        if graph not in self._copied:
            self._copied[graph] = self.made_from(node.graph)
        origin = self._origins.get(node) or input_origin(node)
        if origin is not None:
            self._origins[made] = origin
        if (known := self._made.get(node)) is not None:
            self._made[made] = known
        return made

    def _deepcopy(self, graph: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        made = yield
        self.made_of(graph, made)
        # The output alone is made and not copied.
        for old, new in zip(reversed(graph.nodes), reversed(made.nodes), strict=False):
            if old in self._origins and new not in self._origins:
                self._origins[new] = self._origins[old]
            break
        return made


def _pickled_name(noted: object) -> tuple[tuple[str, str] | None, str]:
    """Root and stage, of what stands in a pickle, which anybody may have written."""
    if (
        isinstance(noted, tuple)
        and len(noted := cast("tuple[object, ...]", noted)) == 3
    ):
        module, name, stage = noted
        if isinstance(module, str) and isinstance(name, str) and isinstance(stage, str):
            return (module, name), stage
    return None, ""


def _code_only() -> Any:
    """The class of what stands for the root of a graph module that is unpickled."""
    return private(
        "torch.fx.graph_module:_CodeOnlyModule",
        "an unpickled graph module of torch.fx has origins in its own code",
    )


def _is_of_make_fx(tracer: Any) -> bool:
    return type(tracer).__module__ == "torch.fx.experimental.proxy_tensor"


def _is_torchs(tracer: Any) -> bool:
    """Whether a tracer works for torch.compile or torch.export, or notes stack traces."""
    return _is_of_make_fx(tracer) and (
        tracer.record_stack_traces or is_compiling() or is_hushed()
    )


PICKLED_NAME = "_fxls_made_of"
"""What a pickled graph module holds besides what torch puts there: root and stage."""

_WITHOUT = "nodes of torch.fx have no exact origins"


class NodeMaker(Protocol):
    """Something that makes nodes."""

    def origin(self, kind: str, target: Any) -> RawOrigin | None:
        """The origin of the node that is being made three frames further out."""
        ...


class _Trails(threading.local):
    """The traces that are under way in this thread, by identity of the tracer."""

    def __init__(self) -> None:
        self.by_tracer: dict[int, NodeMaker] = {}


class _Followed:
    """One trace under way."""

    def __init__(self, tracer: Any, root: Any, boundary: CodeType) -> None:
        self.name: tuple[str, str] | None = None
        self._code: CodeType | None = None
        of_make_fx = _is_of_make_fx(tracer)
        overrides = [
            id(member.__code__)
            for kind in type(tracer).__mro__
            for member in vars(kind).values()
            if isinstance(member, FunctionType)
        ]
        if isinstance(root, torch.nn.Module):
            kind = written_class(type(root))
            self.name = (kind.__module__, kind.__qualname__)
            traced = getattr(kind, getattr(tracer, "traced_func_name", "forward"), None)
        else:
            traced = root
            code = getattr(inspect.unwrap(root), "__code__", None)
            # Others are wrappers of torch's; make_fx evaluates the text of one.
            if code and is_source(code) and code.co_filename != "<string>":
                self.name = (root.__module__ or "", root.__qualname__)
        if callable(traced):
            code = getattr(inspect.unwrap(traced), "__code__", None)
            of_text = code is not None and code.co_filename == "<string>"
            if of_text:
                overrides.append(id(code))
            if of_make_fx and (of_text or not (code and is_source(code))):
                code = None  # a function of torch's around what is traced
            self._code = code
        self._limits = ((boundary,), frozenset(overrides))
        self._trail = FrameOrigins(*self._limits)
        self._holds_frames = not of_make_fx

    def origin(self, kind: str, target: Any) -> RawOrigin | None:
        """The origin of the node that is being made three frames further out."""
        if kind == "placeholder":
            code, name = self._code, str(target).lstrip("*")
            if code is None:
                return None
            plain = name.rpartition("_")[0]  # make_fx numbers its placeholders
            if name not in code.co_varnames and plain in code.co_varnames:
                name = plain
            return (code, name, None)
        if kind == "output":
            return self._trail.returned()
        trail = self._trail
        if not self._holds_frames:
            # With the frame of a function that ended its tensors would live on, and
            # autograd copies a gradient that somebody else holds.
            trail = FrameOrigins(*self._limits)
        origin = trail.here(sys._getframe(3))  # pyright: ignore[reportPrivateUsage]  # the cheap way to it
        if kind == "get_attr" and origin is not None and len(origin) == 3:
            # torch makes the node of a buffer when an expression uses it.
            return (*origin, str(target).rpartition(".")[2])
        return origin
