"""A node: one step of a graph, its place in the order, and who uses its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from fxls.engine.immutable_collections import immutable_dict
from fxls.engine.ir import node_text, pickled_node, purity
from fxls.engine.ir.arguments import (
    ATOMS,
    EMPTY_KWARGS,
    LEAVES,
    Argument,
    Reference,
    freeze,
    map_aggregate,
    map_references,
    references,
)
from fxls.engine.ir.names import naming_in_force
from fxls.engine.ir.opcodes import OPCODES, Target, check_op_and_target, takes_target
from fxls.engine.ir.order import link_before, prepend
from fxls.engine.ir.replaced_uses import replace_all_uses_with, replace_input_with
from fxls.engine.ir.snapshot import note_node
from fxls.engine.ir.users import add_user, change_argument, change_arguments
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin

if TYPE_CHECKING:
    import torch

    from fxls.engine.graph import Graph
    from fxls.engine.operator_schemas import ArgsKwargsPair
    from fxls.engine.origins.resolve import RawOrigin, ScopeSnapshot
    from fxls.listing import Origin

__all__ = ["OPCODES", "Argument", "Node", "Target", "map_aggregate", "map_arg"]


@lasting("fxls.engine.node")
def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """`fn` applied to every node in an argument (FX's `map_arg`)."""
    assert callable(fn), "the second argument of map_arg is a function"
    given: Any = a  # each `cast` is a call
    if type(a) is not tuple:
        return map_references(a, fn)
    mapped: list[Argument] = []
    for x in given:
        if type(x) is Node:
            mapped.append(fn(x))
        elif type(x) in ATOMS:
            mapped.append(x)
        else:
            mapped.append(map_references(x, fn))
    return tuple(mapped)


@lasting("fxls.engine.node")
class Node(Reference):
    """One step of a graph.

    - Every write of op, target, args, kwargs, name or type goes through a setter, which
      keeps users, the graph's index and the node's written line true.
    - `users` is a dict in the order in which the users came; do not change it.
    - Nodes compare by their place in the graph, in O(1).
    - One that is made without a graph is the only node of a graph of its own.
    - Any other attribute may be set.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_args",
        "_caller",
        "_erased",
        "_kwargs",
        "_last_user",
        "_line",
        "_meta",
        "_name",
        "_next",
        "_offset",
        "_op",
        "_origin",
        "_prev",
        "_scope",
        "_sort_key",
        "_target",
        "_type",
        "_users",
        "graph",
    )

    graph: Graph
    _graph_class: ClassVar[type[Graph]]
    """`Graph`, which says so itself: it stands on this module."""
    _op: str
    _target: Target
    _args: tuple[Argument, ...]
    _kwargs: immutable_dict[str, Argument]
    _name: str
    _type: Any
    _prev: Node
    _next: Node
    _sort_key: int
    _erased: bool
    _meta: dict[str, Any] | None
    """What `meta` is, once it was read: most nodes are never asked for it."""
    _users: dict[Node, None] | Node | None
    """None, the only user, or what `users` is: most nodes have one user, and a dict
    each would be a fifth of a graph's memory."""
    _origin: RawOrigin | CodeType | None
    """What `_frames` gives; or its code object alone, as a trace notes it."""
    _offset: int
    _caller: RawOrigin | None
    """Set, and read, with a code object only: the rest of the origin. A tuple each would
    be a tenth of a graph's memory, and a third of what the collector walks."""
    _scope: ScopeSnapshot | None
    _last_user: Node | None
    """The user behind all others, or the node itself when it has none; None while it is
    not known (see `last_uses`)."""
    _line: Any
    """The statement as code generation wrote it last; None when it is out of date."""

    def __init__(
        self,
        graph: Graph | None,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        check_op_and_target(op, target)
        self.graph = self._graph_class() if graph is None else graph
        self._op = op
        self._target = target
        self._name = name
        self._type = return_type
        self._args = ()
        self._kwargs = EMPTY_KWARGS
        self._prev = self._next = self
        self._sort_key = 0
        self._erased = False
        self._users = self._meta = self._origin = self._scope = None
        self._last_user = self._line = None
        set_arguments(self, args, kwargs)
        if graph is None:
            link_before(self, self.graph._root)
            self.graph._len = 1

    op = property(attrgetter("_op"), lambda self, op: _retarget(self, op, self._target))
    """The opcode."""

    target = property(
        attrgetter("_target"), lambda self, target: _retarget(self, self._op, target)
    )
    """What is called or read: a function, or a name or path."""

    args = property(
        attrgetter("_args"),
        lambda self, args: set_arguments(self, args, self._kwargs),
        doc="The positional arguments. Assign a new tuple to change them.",
    )

    kwargs = property(
        attrgetter("_kwargs"),
        lambda self, kwargs: set_arguments(self, self._args, kwargs),
        doc="The keyword arguments. Assign a new dict to change them.",
    )

    name = property(
        attrgetter("_name"),
        lambda self, name: _set_name(self, name),
        doc="What the node's value is called in code. Not checked to be unique.",
    )

    type = property(
        attrgetter("_type"),
        lambda self, value: _set_type(self, value),
        doc="The annotation of the value, or None.",
    )

    @property
    def users(self) -> dict[Node, None]:
        """The nodes that have this one in their arguments."""
        users = self._users
        if type(users) is not dict:
            only: Any = users  # each `cast` is a call
            self._users = users = {} if only is None else {only: None}
        return users

    @property
    def meta(self) -> dict[str, Any]:
        """Whatever passes note about the node."""
        meta = self._meta
        if meta is None:
            scope = self._scope
            meta = {} if scope is None else {"nn_module_stack": scope.module_stack()}
            self._meta = meta
        return meta

    @meta.setter
    def meta(self, meta: dict[str, Any]) -> None:
        self._meta = meta

    @property
    def next(self) -> Node:
        """The node behind this one; the graph's root behind the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node in front of this one; the graph's root in front of the first."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in args and kwargs, each once, in the order they stand there."""
        if not self._kwargs:
            found: dict[Node, None] = {}
            for a in self._args:
                if type(a) is Node:
                    found[a] = None
                elif type(a) not in ATOMS:
                    break
            else:
                return list(found)
        return references(self._args, self._kwargs)

    @property
    def _input_nodes(self) -> dict[Node, None]:
        return dict.fromkeys(references(self._args, self._kwargs))

    @property
    def _frames(self) -> RawOrigin | None:
        """The origin as a few pointers; the same object each time."""
        frames: Any = self._origin
        if type(frames) is CodeType:
            self._origin = frames = (frames, self._offset, self._caller)
        return frames

    @_frames.setter
    def _frames(self, frames: RawOrigin | None) -> None:
        self._origin = frames

    @property
    def origin(self) -> Origin | None:
        """Where in the source the node came from; None when it was made by hand."""
        return origin.resolve(self._frames)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """All origins of a node that was made from several others; `origin` first."""
        return origin.resolve_all(self._frames)

    @property
    def stack_trace(self) -> str | None:
        """The origin as the lines of a traceback; what `meta` says goes first."""
        noted = self.meta.get("stack_trace")
        return noted if noted is not None else origin.stack_trace(self._frames)

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def noted(self, key: str) -> Any:
        """What `meta` holds for a key, or None; does not make `meta`."""
        return self.noted_all().get(key)

    def noted_all(self) -> Mapping[str, Any]:
        """`meta`, or an empty mapping while nobody read it."""
        meta = self._meta
        return NOTHING_NOTED if meta is None else meta

    prepend = prepend

    def append(self, x: Node) -> None:
        """Move `x` directly behind this node."""
        prepend(self._next, x)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the positional argument `idx`."""
        change_argument(self, idx, arg)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument in front of positional argument `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(
                f"insert_arg: index {idx} is not between 0 and len(args)"
                f" = {len(self._args)}"
            )
        arg = freeze(arg)
        note_node(self)
        # For thousands of arguments, a third less than to unpack the two parts.
        args = self._args
        self._args = args[:idx] + (arg,) + args[idx:]  # noqa: RUF005
        self._line = None
        self.graph._edits += 1
        if type(arg) is Node:
            add_user(arg, self)  # a twelfth less, also for thousands of arguments
        else:
            for used in references((arg,), EMPTY_KWARGS):
                add_user(used, self)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set the keyword argument `key`."""
        set_arguments(self, self._args, {**self._kwargs, key: arg})

    replace_all_uses_with = replace_all_uses_with

    replace_input_with = replace_input_with

    def is_impure(self, impure_random: bool = True) -> bool:  # noqa: FBT001, FBT002 - FX's signature
        """Whether erasing the node would change what the graph does."""
        return purity.is_impure(self, impure_random=impure_random)

    def normalized_arguments(
        self,
        root: torch.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> ArgsKwargsPair | None:
        """The arguments as the signature of what is called has them, with defaults.

        None for what has no signature; `root` has the submodules. See
        `operator_schemas.normalize_function`, also for `arg_types`.
        """
        from fxls.engine import operator_schemas  # noqa: PLC0415 - few nodes are asked

        call = (cast("Any", self._target), self._args, self._kwargs)
        only_kwargs = normalize_to_only_use_kwargs
        if self._op == "call_function":
            types = (arg_types, kwarg_types)
            return operator_schemas.normalize_function(*call, *types, only_kwargs)
        if self._op == "call_module":
            return operator_schemas.normalize_module(root, *call, only_kwargs)
        return None

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as `str(graph)` writes it.

        With `placeholder_names` a placeholder is added to that list instead, and the
        result is None; `maybe_return_typename` gets the annotation of the output.
        """
        return node_text.format_node(
            self,
            placeholder_names,
            maybe_return_typename,
            include_tensor_metadata=include_tensor_metadata,
        )

    def _pretty_print_target(self, target: object) -> str:
        return node_text.pretty_target(target)

    def _rename(self, candidate: str) -> None:
        if candidate != self._name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled_node.reduce_node(self)

    def __repr__(self) -> str:
        reads = naming_in_force.reads
        return self._name if reads is None else reads(self)

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self._sort_key < other._sort_key

    def __ge__(self, other: Node) -> bool:
        return self is other or self._sort_key > other._sort_key


NOTHING_NOTED: Mapping[str, Any] = MappingProxyType({})
"""What `noted_all` gives while there is no `meta`."""


def set_arguments(
    node: Node, args: Sequence[Argument], kwargs: Mapping[str, Argument]
) -> None:
    """Give a node new arguments, and tell the nodes in the old and the new ones."""
    graph = node.graph
    if graph._were is not None:
        note_node(node)
    new: Any = args if args is node._args else freeze(args)
    named: Any = kwargs if kwargs is node._kwargs else freeze_kwargs(kwargs)
    change_arguments(node, new, named)
    node._line = None
    graph._edits += 1


def freeze_kwargs(kwargs: Mapping[str, Argument]) -> immutable_dict[str, Argument]:
    """Keyword arguments as a node keeps them."""
    if not kwargs:
        return EMPTY_KWARGS
    if LEAVES.issuperset(map(type, kwargs.values())):
        return immutable_dict(kwargs)
    return immutable_dict([(k, freeze(v)) for k, v in kwargs.items()])


def _retarget(node: Node, op: str, target: Target) -> None:
    graph = node.graph
    note_node(node)
    graph._index_remove(node)
    node._op = op
    node._target = target
    node._line = None
    if not takes_target(op, target):
        graph._may_mismatch = True
    graph._edits += 1
    graph._index_add(node)


def _set_name(node: Node, name: str) -> None:
    note_node(node)
    graph = node.graph
    graph._has_given_names = True
    node._name = name
    graph._touched[node] = None


def _set_type(node: Node, value: Any) -> None:
    note_node(node)
    node._type = value
    node._line = None
    node.graph._edits += 1
