"""Proxies: values that record what is done with them, and the tracer they report to."""

from __future__ import annotations

import copy
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, TypeAlias, cast

import torch

from fxls.engine import errors, traceback
from fxls.engine.graph import Graph
from fxls.engine.immutable_collections import immutable_dict
from fxls.engine.ir.arguments import EMPTY_KWARGS, Argument
from fxls.engine.ir.names import default_name
from fxls.engine.ir.node import Node, freeze, freeze_kwargs
from fxls.engine.ir.opcodes import Target, check_op_and_target
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin
from fxls.engine.origins.from_frames import FrameOrigins, innermost, source_frame
from fxls.engine.origins.module_scopes import (
    ModuleStack,
    Scope,
    ScopeSnapshot,
    snapshot_of,
)
from fxls.engine.origins.resolve import RawOrigin
from fxls.engine.tracing import bytecode, lowering, torch_calls
from fxls.engine.tracing.lowering import Traced
from fxls.engine.tracing.proxy_operators import define_operators

__all__ = [
    "ARGUMENT_TYPES",
    "Attribute",
    "GraphAppendingTracer",
    "Proxy",
    "TracerBase",
    "assert_fn",
]

log = logging.getLogger(__name__)

Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]


@lasting("fxls.engine.proxy")
class TracerBase:
    """Turns what proxies do into nodes of one graph.

    Override `create_arg`, `create_node`, `create_proxy` or `proxy` to change a step of
    it, and `to_bool`, `iter` or `keys` to allow what is refused here. Every node has
    its origin; nothing needs to be asked for.
    """

    graph: Graph
    record_stack_traces: bool = False
    """Accepted for the programs that set it: origins are always there."""
    check_mutable_operations: bool = False
    """Refuse operators that change their arguments."""
    trace_asserts: bool = False
    """Record ``assert value`` for a traced value."""
    proxy_buffer_attributes: bool = False
    """Record every read of a buffer, as reads of parameters are."""
    traced_func_name: str = "forward"
    """The method of a module that is traced."""
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]

    _has_own_steps: bool = True
    """Whether a step of making a node is (or may be) overridden."""
    _trail: FrameOrigins | None = None

    @property
    def node_name_to_scope(self) -> dict[str, tuple[str, Any]]:
        """For each node's name the path and class of the module that made it."""
        return {
            node.name: ("", None)
            if node._scope is None
            else (node._scope.path, node._scope.type)
            for node in self.graph.nodes
        }

    @node_name_to_scope.setter
    def node_name_to_scope(self, _scopes: dict[str, tuple[str, Any]]) -> None:
        """Nothing: tracers written for `torch.fx` assign an empty dict to start with."""

    def create_node(
        self,
        kind: str,
        target: Target,
        args: Args,
        kwargs: Kwargs,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Append a node; `args` and `kwargs` went through `create_arg`.

        Every node is made here, so an override sees, checks or changes all of them.
        """
        if kind == "call_function" and self.check_mutable_operations:
            self._refuse_mutation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node._scope = (
                stack.snapshot if isinstance(stack, ModuleStack) else snapshot_of(stack)
            )
        trail = self._trail
        if trail is not None:
            # The caller is a method of a proxy, and outside of it is, as a rule, the
            # function. Asking for that frame alone spares making the caller's object.
            frame = sys._getframe(2)
            if frame is not trail.function:
                frame = sys._getframe(1)
            node._frames = trail.here(frame)
        if traceback.is_preserving():
            traceback.annotate_node(node)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The value that stands for a node while the program runs."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: Args,
        kwargs: Kwargs,
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Append a node whose arguments may hold proxies, and return its proxy.

        For a placeholder, `args` holds the default value, if there is one.
        """
        if self._has_own_steps or self.check_mutable_operations:
            new_args = self.create_arg(args)
            new_kwargs = self.create_arg(kwargs)
            node = self.create_node(kind, target, new_args, new_kwargs, name, type_expr)
            return (proxy_factory_fn or self.proxy)(node)

        # The same steps without the calls of methods that nobody overrides.
        check_op_and_target(kind, target)
        nodes: list[Argument] = []
        graph = self.graph
        for a in args:
            if type(a) is Proxy:
                used = a.node
                if used.graph is not graph:
                    lowering.refuse_kept(self, a)
                nodes.append(used)
            elif type(a) in _ATOMS:
                nodes.append(a)
            else:
                nodes.append(self._lowered(a))
        node = graph._append(
            kind,
            target,
            tuple(nodes),
            self._lowered_keywords(kwargs) if kwargs else EMPTY_KWARGS,
            graph._graph_namespace.create_name(name or default_name(target), None),
            type_expr,
        )
        node._scope = self.module_stack.snapshot  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # a ModuleStack, or _has_own_steps
        trail = self._trail
        if trail is not None:
            # The caller is a method of a proxy, and outside of it is, as a rule, the
            # function. Asking for that frame alone spares making the caller's object.
            frame = sys._getframe(2)
            if frame is trail.function:
                node._origin = frame.f_code
                node._offset = frame.f_lasti
                node._caller = trail.caller
            else:
                trail.note(node, frame)
        if traceback._current.preserves:
            traceback.annotate_node(node)
        if proxy_factory_fn is not None:
            return proxy_factory_fn(node)
        return _proxy(node, self)

    def record_leaf(
        self, path: str, args: Args, scope: ScopeSnapshot, frame: FrameType
    ) -> Proxy:
        """What `create_proxy` does for the call of a module, when nobody overrides it.

        All of `args` are of the `ARGUMENT_TYPES`; `frame` is where the module is called.
        """
        graph = self.graph
        nodes: list[Argument] = []
        for a in args:
            if type(a) is Proxy:
                if a.node.graph is not graph:
                    lowering.refuse_kept(self, a)
                nodes.append(a.node)
            else:
                nodes.append(a)
        node = graph._append(
            "call_module",
            path,
            tuple(nodes),
            EMPTY_KWARGS,
            graph._graph_namespace.create_name(default_name(path), None),
            None,
        )
        node._scope = scope
        trail = self._trail
        if trail is not None:
            if frame is trail.function:
                node._origin = frame.f_code
                node._offset = frame.f_lasti
                node._caller = trail.caller
            else:
                node._origin = trail.here(frame)
        if traceback._current.preserves:
            traceback.annotate_node(node)
        return _proxy(node, self)

    def _lowered(self, a: Any) -> Argument:
        """`create_arg` for a value that is neither a proxy nor an atom, made immutable."""
        if type(a) is tuple and ARGUMENT_TYPES.issuperset(map(type, cast("Args", a))):
            parts = cast("Args", a)
            return tuple(
                [lowering.node_of(self, x) if type(x) is Proxy else x for x in parts]
            )
        return freeze(self.create_arg(a))

    def _lowered_keywords(self, kwargs: Kwargs) -> immutable_dict[str, Argument]:
        if ARGUMENT_TYPES.issuperset(map(type, kwargs.values())):
            return immutable_dict(
                [
                    (k, lowering.node_of(self, v) if type(v) is Proxy else v)
                    for k, v in kwargs.items()
                ]
            )
        return freeze_kwargs(self.create_arg(kwargs))

    def create_arg(self, a: Any) -> Argument:
        """What stands in a node for a value of the program; may append nodes.

        Raises UnsupportedArgumentError for what generated code could not write.
        """
        return lowering.lower(self, a)

    def to_bool(self, obj: Proxy) -> bool:
        """Decide a branch on a traced value; refuses."""
        frame = source_frame(sys._getframe(1))
        advice = bytecode.branch_advice(frame)
        raise errors.ControlFlowError(frames=self._here(frame), advice=advice)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Iterate over a traced value of unknown length; refuses."""
        frame = source_frame(sys._getframe(1))
        reason = (
            errors.IterationError if frame is None else bytecode.iteration_error(frame)
        )
        raise reason(frames=self._here(frame))

    def keys(self, obj: Proxy) -> Any:
        """What ``value.keys()`` gives, and ``**value`` asks for: a recorded call."""
        return Attribute(obj, "keys")()

    def _refuse_mutation(self, target: Any, args: Args, kwargs: Kwargs) -> None:
        from fxls.engine.operator_schemas import (  # noqa: PLC0415 - few tracers check
            check_for_mutable_operation,
        )

        try:
            check_for_mutable_operation(target, args, kwargs)
        except RuntimeError as error:
            frames = self._here(sys._getframe(1))
            raise errors.MutationError(*error.args, frames=frames) from None

    def _here(self, frame: FrameType | None) -> RawOrigin | None:
        """The origin of what a frame is doing."""
        trail = self._trail
        return innermost(frame) if trail is None else trail.here(frame)


@lasting("fxls.engine.proxy")
class GraphAppendingTracer(TracerBase):
    """Appends to a graph that exists: what a proxy of one's own, outside tracing, uses."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = ModuleStack()
        self._has_own_steps = type(self) is not GraphAppendingTracer


@lasting("fxls.engine.proxy")
class Proxy(Traced):
    """Stands for the value of a node while the program runs.

    Operators, methods, attributes and torch functions used on it append nodes. What
    Python must know at once (its truth, length or elements) raises `TraceError`.

    Outside tracing, ``Proxy(node)`` appends to the node's graph, so that a transform
    can write what it adds as ordinary expressions.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        # What ``Attribute(self, k)`` gives, in two thirds of the time.
        attribute = object.__new__(Attribute)
        attribute.root = self
        attribute.attr = k
        attribute.tracer = tracer = self.tracer
        attribute._node = None
        trail = tracer._trail
        attribute._frames = None if trail is None else trail.here(sys._getframe(1))
        return attribute

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        # Without this method, copy would find an Attribute by the name.
        new = Proxy.__new__(Proxy)
        for key, value in self.__dict__.items():
            new.__dict__[key] = _copied(value, memo, self.node)
        return new

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy(
            "call_method", "__call__", (self, *args), kwargs
        )

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        count = bytecode.unpacked_names(frame)
        if count is None:
            return self.tracer.iter(self)
        elements: list[Any] = []
        for i in range(count):
            element: Any = self[i]  # pyright: ignore[reportUnknownVariableType, reportIndexIssue]  # defined below
            if element is not None:  # a tracer may know that it is
                origin.narrow_to_part(cast("Proxy", element).node, i)
            elements.append(element)
        return iter(elements)

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and bytecode.is_in_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise errors.LengthError(frames=self.tracer._here(sys._getframe(1)))

    def keys(self) -> Any:
        """What ``**value`` asks for; the tracer decides."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: Iterable[type],
        args: Args | None = None,
        kwargs: Kwargs | None = None,
    ) -> Proxy:
        """Record a call of a torch function, or of a method of a real tensor."""
        args = args or ()
        kwargs = kwargs or {}
        tracer = _tracer_of(cls, orig_method, args, kwargs)
        op, target, name, owner, takes_functions = torch_calls.call_of(orig_method)
        if owner is not None:
            args = (owner, *args)
        elif takes_functions:
            torch_calls.refuse_functions(
                orig_method, args, kwargs, tracer._here(sys._getframe(1))
            )
        return tracer.create_proxy(op, target, args, kwargs, name)


@lasting("fxls.engine.proxy")
class Attribute(Proxy):
    """``value.name``: a method, when it is called next, and else a recorded getattr.

    The node is appended when it is needed first; its origin is where the attribute
    was written.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = tracer = root.tracer
        self._node: Node | None = None
        trail = tracer._trail
        # The first frame outside is that of __getattr__.
        self._frames = None if trail is None else trail.here(sys._getframe(2))

    @property
    def node(self) -> Node:  # pyright: ignore[reportIncompatibleVariableOverride]  # FX makes it late
        node = self._node
        if node is None:
            node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
            node._frames = self._frames
            self._node = node
        return node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy(
            "call_method", self.attr, (self.root, *args), kwargs
        )


@lasting("fxls.engine.proxy")
def assert_fn(x: object) -> None:
    """What ``assert value`` becomes in a graph (`TracerBase.trace_asserts`)."""
    if not x:
        raise AssertionError("Assertion failed")


def _proxy(node: Node, tracer: TracerBase) -> Proxy:
    """What ``Proxy(node, tracer)`` gives, in half of the time: without `__init__`."""
    proxy = object.__new__(Proxy)
    proxy.tracer = tracer
    proxy.node = node
    return proxy


_ATOMS = lowering.ATOMS
ARGUMENT_TYPES = frozenset({*_ATOMS, Proxy})
"""Exact types of values that become arguments of a node without a node of their own."""
_PROXYLESS = frozenset({*_ATOMS, torch.Tensor, torch.nn.Parameter})
"""Exact types in which no proxy can stand."""


def _tracer_of(
    cls: type[Proxy],
    function: object,
    args: tuple[object, ...],
    kwargs: dict[str, Any],
) -> TracerBase:
    """The tracer of the proxies in a call, which must be one."""
    tracer = None
    for a in args:
        if type(a) is Proxy:
            if tracer is None:
                tracer = a.tracer
            elif a.tracer is not tracer:
                break
        elif type(a) not in _PROXYLESS:
            break
    else:
        if tracer is not None and (
            not kwargs or _PROXYLESS.issuperset(map(type, kwargs.values()))
        ):
            return tracer
    found = {
        id(proxy.tracer): proxy.tracer
        for proxy in lowering.proxies_in((args, kwargs))
        if isinstance(proxy, cls)
    }
    tracers = list(found.values())
    if len(tracers) > 1:
        raise errors.MixedTracersError(
            f"Found multiple different tracers {tracers} while trying to trace"
            f" operations {function}",
            frames=tracers[0]._here(sys._getframe(1)),
        )
    return tracers[0]


def _copied(value: Any, memo: dict[int, Any], node: Node) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except (TypeError, ValueError, RuntimeError, AttributeError, copy.Error):
        log.warning("Proxy(%s): %r cannot be deepcopied, so it is shared", node, value)
        return copy.copy(value)


define_operators(Proxy)
