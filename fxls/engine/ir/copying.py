"""Copies of nodes: one by one, of a whole graph at once, and of what nodes were."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from types import CodeType
from typing import TYPE_CHECKING, Any

from fxls.engine.ir.arguments import (
    ATOMS,
    EMPTY_KWARGS,
    Argument,
    map_references,
    references,
)
from fxls.engine.ir.node import Node
from fxls.engine.ir.order import GAP
from fxls.engine.ir.users import add_user, add_uses

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.snapshot import Content, Snapshot

__all__ = [
    "append_copies",
    "copy_notes",
    "copy_of",
    "graph_of",
    "insert_copies",
    "is_blank",
]


def copy_notes(old: Node, new: Node) -> None:
    """Give a copied node what is known of the one it was copied from."""
    new._origin = old._frames
    new._scope = old._scope
    if old._meta is not None:
        new._meta = copy.copy(old._meta)
        if "is_wrapped" in new._meta:
            new.graph._may_wrap_torch = True


def is_blank(graph: Graph) -> bool:
    """Whether a copied node becomes just what it was: nothing is here, and no hook."""
    return (
        graph._len == 0
        and graph._owning_module is None
        and graph._insert_point is graph._root
        and graph._index is None
        and graph._graph_namespace.is_new
    )


def append_copies(source: list[Node], graph: Graph, val_map: dict[Node, Node]) -> None:
    """Append copies of nodes of one graph to a blank one; names stay as they are.

    `source` is in order, `val_map` is empty and gets node to node. A quarter of the time
    of `Graph.node_copy`, which looks for a free name and checks what a node cannot be.
    """
    make = Node.__new__
    last = root = graph._root
    key = root._sort_key
    try:
        for old in source:
            new = make(Node)
            new.graph = graph
            new._op = old._op
            new._target = old._target
            new._name = old._name
            new._type = old._type
            new._scope = old._scope
            new._erased = False
            new._users = new._meta = new._last_user = new._line = None
            new._origin = origin = old._origin
            if type(origin) is CodeType:
                new._offset = old._offset
                new._caller = old._caller
            new._args = _copied_arguments(old._args, new, val_map)
            new._kwargs = kwargs = old._kwargs
            if kwargs:
                new._kwargs = map_references(kwargs, val_map.__getitem__)
                for used in references((), new._kwargs):
                    add_user(used, new)
            if old._meta is not None:
                copy_notes(old, new)
            key += GAP
            new._sort_key = key
            new._prev = last
            last._next = last = new
            val_map[old] = new
    finally:
        last._next = root
        root._prev = last
        graph._len = len(val_map)
        graph._reordered()
    graph._graph_namespace.take([old._name for old in source])


def insert_copies(
    graph: Graph, source: Iterable[Node], values: dict[Node, Argument], place: Node
) -> list[Node]:
    """Copies of nodes of another graph in front of `place`; `values` gets each of them.

    It has all that they use. What `Graph.node_copy` makes of them, without asking anew
    whether they are what a node can be.
    """
    module = graph._owning_module
    is_watched = module is not None and getattr(module, "_create_node_hooks", ())
    made: list[Node] = []
    before, graph._insert_point = graph._insert_point, place
    try:
        for old in source:
            if is_watched:
                new = graph.node_copy(old, values.__getitem__)
            else:
                args = map_references(old._args, values.__getitem__)
                kwargs = map_references(old._kwargs, values.__getitem__)
                call = (old._op, old._target, args, kwargs)
                new = graph._add(*call, old._name, old._type)
                copy_notes(old, new)
            values[old] = new
            made.append(new)
    finally:
        graph._insert_point = before
    return made


def graph_of(snapshot: Snapshot) -> Graph:
    """The graph that a snapshot is of: itself, or a copy where it was edited since."""
    graph, codegen = snapshot.graph, snapshot.codegen
    if snapshot.is_current:
        return graph
    rows, graph = snapshot.rows(), graph._blank()
    if not snapshot.has_same_rules:
        codegen = copy.copy(codegen)
        codegen.__dict__.clear()
        codegen.__dict__.update(snapshot.rules)
    graph._codegen = codegen
    graph._has_given_names = snapshot.graph._has_given_names
    _fill(graph, rows)
    return graph


def copy_of(graph: Graph) -> Graph:
    """A copy of a graph, also of one in which a node uses another that is made later."""
    new = graph._blank()
    new._codegen = copy.deepcopy(graph._codegen)
    new._has_given_names = graph._has_given_names
    contents = (
        (one, (one._op, one._target, one._args, one._kwargs, one._name, one._type))
        for one in graph.nodes
    )
    _fill(new, contents)
    return new


def _fill(graph: Graph, rows: Iterable[tuple[Node, Content]]) -> None:
    """Make nodes of what others are, in whichever order they use each other."""
    made: dict[Node, Node] = {}
    rows = list(rows)
    for node, (op, target, _, _, name, kind) in rows:
        made[node] = new = graph._append(op, target, (), EMPTY_KWARGS, name, kind)
        copy_notes(node, new)

    def earlier(node: Node) -> Node:
        # A graph may name one that is not in it: it is written, and fails when it runs.
        found = made.get(node)
        if found is None:
            call = (node._op, node._target, (), EMPTY_KWARGS)
            found = made[node] = Node(graph, node._name, *call)
        return found

    for node, (_, _, args, kwargs, _, _) in rows:
        new = made[node]
        new._args = map_references(args, earlier)
        new._kwargs = map_references(kwargs, earlier)
        add_uses(new)


def _copied_arguments(
    args: tuple[Argument, ...], user: Node, val_map: dict[Node, Node]
) -> tuple[Argument, ...]:
    """Arguments of a copied node; the nodes in them learn that it uses them."""
    copied: list[Argument] = []
    for a in args:
        if type(a) is Node:
            used = val_map[a]
            copied.append(used)
            users: Any = used._users  # what `add_user` does, without the call
            if users is None:
                used._users = user
            elif type(users) is dict:
                users[user] = None
            elif users is not user:
                used._users = {users: None, user: None}
        elif type(a) in ATOMS:
            copied.append(a)
        else:
            mapped = map_references(a, val_map.__getitem__)
            copied.append(mapped)
            for used in references((mapped,), EMPTY_KWARGS):
                add_user(used, user)
    return tuple(copied)
