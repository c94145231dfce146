"""A graph of torch's FX as it is at one moment, to become one of the engine later."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.ir.arguments import ATOMS, EMPTY_KWARGS, Argument, freeze
from fxls.engine.ir.node import Node, freeze_kwargs
from fxls.engine.origins.module_scopes import ScopeSnapshot
from fxls.engine.origins.resolve import RawOrigin
from fxls.engine.torch_fx import codegen as foreign_codegen
from fxls.listing import Place
from fxls.runtime.listings.identity import root_in
from fxls.runtime.listings.module_names import name_of_file
from fxls.runtime.listings.program_names import path_in_module
from fxls.runtime.listings.submodule_paths import module_path
from fxls.runtime.producers.places.stack_traces import origin_of
from fxls.runtime.torch_private import fx, source_of

__all__ = ["Snapshot", "is_symbolic"]


class Snapshot:
    """What the nodes of a graph are.

    - Taking one costs a tuple for each node: arguments are immutable, and what a node
      notes in its `meta` is added to, and not taken away, while the graph is made.
    - With `copies_notes` it is also right when passes go on to change the graph.
    """

    def __init__(
        self,
        graph: Any,
        origins_of: Callable[[Sequence[Any]], Sequence[RawOrigin | None]],
        *,
        copies_notes: bool = False,
    ) -> None:
        # The properties `args` and `kwargs` are calls, and take half of the time.
        self._rows: list[tuple[Any, ...]] = [
            (n, n.name, n.op, n.target, n._args, n._kwargs, n.type, n.meta)
            for n in graph.nodes
        ]
        if copies_notes:
            self._rows = [(*row[:7], {**row[7]}) for row in self._rows]
        self._origins = origins_of(self.nodes())
        self._codegen = graph._codegen
        names = graph._graph_namespace
        self._names = (set(names._used_names), dict(names._base_count))

    def has_rules_of_its_own(self) -> bool:
        """Whether its code is written by rules that are neither torch's nor ours."""
        rules = foreign_codegen.from_torch(self._codegen, fx.graph)
        return isinstance(rules, foreign_codegen.ForeignCodeGen)

    def nodes(self) -> list[Any]:
        """The nodes, in order."""
        return [row[0] for row in self._rows]

    def is_of(self, path: str) -> bool:
        """Whether the nodes came from code of this file."""
        codes = (origin[0] for origin in self._origins if origin is not None)
        return any(isinstance(c, CodeType) and c.co_filename == path for c in codes)

    def has_origins(self) -> tuple[bool, bool]:
        """Whether an input, and whether any node, came from somewhere."""
        if not any(self._origins):
            return False, any(row[7].get("stack_trace") for row in self._rows)
        rows = zip(self._rows, self._origins, strict=True)
        return any(row[2] == "placeholder" and origin for row, origin in rows), True

    def root(self) -> tuple[str, str] | None:
        """Module and qualified name of what the nodes came from, if any says so."""
        for row, origin in zip(self._rows, self._origins, strict=True):
            stack = row[7].get("nn_module_stack")
            if isinstance(stack, Mapping) and (found := root_in(stack)):
                return found
            origin = origin or origin_of(row[7])
            # The forward that takes an input may be inherited.
            if origin is not None and row[2] != "placeholder":
                return _outermost(origin)
        return None

    def paths(self) -> dict[str, str]:
        """The modules that nodes were made in, by the names of the nodes."""
        found: dict[str, str] = {}
        for row in self._rows:
            stack = row[7].get("nn_module_stack")
            if stack and isinstance(stack, Mapping):
                entry: Any = list(cast("Any", stack).values())[-1]
                if isinstance(entry, tuple):
                    found[row[1]] = module_path(str(cast("Any", entry)[0]))
        return found

    def input_paths(self) -> dict[str, str]:
        """The paths of the inputs that are parameters and buffers of the program, by the
        names of their nodes.
        """
        inputs = (row for row in self._rows if row[2] == "placeholder")
        paths = ((row[1], path_in_module(source_of(row[0]))) for row in inputs)
        return {name: path for name, path in paths if path is not None}

    def graph(self) -> Graph:
        """The same graph, with origins and module stacks from the notes of torch."""
        return self.copied().graph

    def copied(self) -> EngineCopy:
        """That graph, and which of its nodes stands for which."""
        graph: Any = Graph()
        graph._has_given_names = True
        made: dict[Any, Any] = {}
        late: list[tuple[Any, Any, Any]] = []
        for node, name, op, target, args, kwargs, kind, _ in self._rows:
            try:
                call = _mapped(args, made), _mapped_kwargs(kwargs, made)
            except KeyError:  # a pass may have put it in front of what it uses
                late.append((node, args, kwargs))
                call = (), EMPTY_KWARGS
            # The names are those of torch's namespace, and are not made anew.
            made[node] = graph._append(op, target, *call, name, kind)
        for node, args, kwargs in late:
            made[node].args = fx.node.map_arg(args, made.__getitem__)
            made[node].kwargs = fx.node.map_arg(kwargs, made.__getitem__)
        self._note(graph, made)
        return EngineCopy(graph, made, self._rows, can_follow=not late)

    def follow(self, copy: EngineCopy) -> EngineCopy | None:
        """What `copied` gives, made of the copy of an earlier snapshot, which is of no use
        from then on: nodes that did not change stay, with the lines written of them.

        None where nodes moved, or where one is in front of what it uses.
        """
        graph: Any = copy.graph
        known = zip(copy.rows, copy.made.values(), strict=True)
        left: dict[Any, Any] = dict(zip(copy.made, known, strict=True))
        made: dict[Any, Any] = {}
        changed: list[Any] = []
        last = graph._root
        key = -math.inf
        for row in self._rows:
            node, name, op, target, args, kwargs, kind, _ = row
            was, new = left.pop(node, _UNKNOWN)
            if new is not None:
                if new._sort_key < key:
                    return None
                _, had, opcode, called, given, named, kind_had, _ = was
                if (
                    args is given
                    and name is had
                    and target is called
                    and kwargs is named
                    and op is opcode
                    and kind is kind_had
                ):
                    made[node] = last = new
                    key = new._sort_key
                    continue
            try:
                call = _mapped(args, made), _mapped_kwargs(kwargs, made)
            except KeyError:
                return None
            if new is None:
                graph._insert_point = last._next
                new = graph._append(op, target, *call, name, kind)
            else:
                new._op, new._target, new._type = op, target, kind
                new.args, new.kwargs = call
                if new.name != name:
                    new.name = name
            changed.append(new)
            made[node] = last = new
            key = new._sort_key
        graph._insert_point = graph._root
        for _, gone in reversed(left.values()):
            if gone.users:
                return None
            graph.erase_node(gone)
        _order_users(changed)
        self._note(graph, made)
        return EngineCopy(graph, made, self._rows)

    def _note(self, graph: Any, made: dict[Any, Any]) -> None:
        """Let a copy of the graph, and each node of it, know the rest."""
        graph._codegen = foreign_codegen.from_torch(self._codegen, fx.graph)
        graph._graph_namespace._used |= self._names[0]
        graph._graph_namespace._last.update(self._names[1])
        scopes = _Scopes()
        copy = torch.ops.aten.copy_.default  # asked for once: each dot is a call
        rows = zip(self._rows, made.values(), self._origins, strict=True)
        for row, new, origin in rows:
            new._meta = meta = row[7]
            # Most origins are noted by the tracer; a call for each would be a tenth.
            if origin is None and meta:
                origin = origin_of(meta)
            if origin is None and row[3] is copy:
                origin = _of_written(new)
            new._origin = origin
            new._scope = (
                scopes.of(meta["nn_module_stack"])
                if "nn_module_stack" in meta
                else None
            )


class EngineCopy(NamedTuple):
    """A graph of torch's FX, as it was, as one of the engine."""

    graph: Graph
    made: dict[Any, Node]
    """The nodes that stand for those of torch, in order."""
    rows: list[tuple[Any, ...]]
    """What those were."""
    can_follow: bool = True
    """Whether it can be made the copy of a later snapshot."""


_UNKNOWN = None, None
"""The row and the copy of a node that is new."""


def _order_users(changed: list[Any]) -> None:
    """Put the users of what these nodes use in the order of the graph, as in a new copy."""
    for used in {used: None for node in changed for used in node.all_input_nodes}:
        if len(used.users) > 1:
            used._users = dict.fromkeys(sorted(used.users))


def _mapped(args: tuple[Any, ...], made: Mapping[Any, Node]) -> tuple[Argument, ...]:
    """The arguments of a node, with the nodes that were made for those in them."""
    mapped: list[Argument] = []
    for one in args:
        if type(one) is fx.Node:  # most are, and map_arg takes longer to find that
            mapped.append(made[one])
        elif type(one) in ATOMS:
            mapped.append(one)
        else:
            mapped.append(freeze(fx.node.map_arg(one, made.__getitem__)))
    return tuple(mapped)


def _mapped_kwargs(kwargs: Any, made: Mapping[Any, Node]) -> Any:
    """As `_mapped`; few nodes have any, and an empty one would be made anew."""
    if not kwargs:
        return EMPTY_KWARGS
    return freeze_kwargs(fx.node.map_arg(kwargs, made.__getitem__))


def is_symbolic(graph: Any) -> bool:
    """Whether sizes in the graph are symbols, which torch still learns about."""
    for node in graph.nodes:
        if node.op != "placeholder":
            return False
        for key in ("val", "example_value"):
            value = node.meta.get(key)
            if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
                return True
            if getattr(value, "_has_symbolic_sizes_strides", False):
                return True
    return False


def _of_written(node: Any) -> RawOrigin | None:
    """Of what gives a changed input back to the program, the origin of the new value:
    AOTAutograd puts that, which is a `copy`, behind the code that changed it, and says
    nothing of it.
    """
    return getattr(node.args[1], "_frames", None) if len(node.args) > 1 else None


def _outermost(origin: RawOrigin) -> tuple[str, str]:
    """The class, or the function, that an origin reaches out to."""
    while (caller := origin[2]) is not None:
        origin = caller
    code: Any = origin[0]
    if isinstance(code, Place):
        path, function = code.path, code.function
    else:
        path, function = code.co_filename, code.co_qualname
    qualname = function.rpartition(".")[0].removesuffix(".<locals>")
    return name_of_file(path), qualname or function


class _Scopes:
    """The module stacks of one graph as the engine keeps them: a tree."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str, str], ScopeSnapshot] = {}

    def of(self, stack: Any) -> ScopeSnapshot | None:
        """The snapshot of a stack as torch notes it: path and class by key."""
        if not isinstance(stack, Mapping):
            return None
        at: ScopeSnapshot | None = None
        entries = cast("Mapping[Any, Any]", stack)
        for key, entry in entries.items():
            if not isinstance(entry, tuple) or len(cast("Any", entry)) != 2:
                return at
            path, kind = cast("tuple[Any, Any]", entry)
            path = module_path(str(path))
            if not path:
                continue  # the root, which is no submodule
            row = (id(at), str(key), path)
            if row not in self._made:
                self._made[row] = ScopeSnapshot(at, str(key), path, kind)
            at = self._made[row]
        return at
