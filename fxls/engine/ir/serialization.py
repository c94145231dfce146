"""Graphs as pickles: records of the nodes, not code that is traced again.

- A graph is made with its nodes, all empty, before anything that may refer to a node
  is read; so nodes may stand anywhere: in arguments, in meta, in a module.
- Functions go by reference, as pickle does, or by the name that code calls them by.
- Origins go as places in files.
- Of meta goes what is plain: see `_plain`. What stands for a process (fake tensors,
  symbolic shapes, classes of a function) stays behind, so that it bars nothing.
"""

from __future__ import annotations

import builtins
import importlib
import pickle
import sys
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import torch

from fxls.engine.ir.arguments import EMPTY_KWARGS, Reference, map_aggregate
from fxls.engine.ir.names import Namespace
from fxls.engine.ir.node import Node, freeze_kwargs
from fxls.engine.ir.pickled_node import being_read
from fxls.engine.ir.target_names import qualified_name
from fxls.engine.ir.users import add_uses
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin
from fxls.engine.origins.module_scopes import ScopeSnapshot
from fxls.engine.origins.resolve import Merged, RawOrigin
from fxls.engine.torch_private import HigherOrderOperator, OpOverload, OpOverloadPacket
from fxls.formats import other_format
from fxls.listing import Place

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = [
    "FORMAT",
    "blank_graph",
    "fill_graph",
    "reduce_graph",
    "require_format",
    "value_named",
]

FORMAT = 1
"""The version of what pickles of graphs and modules hold; only this one is read."""


def reduce_graph(graph: Graph) -> tuple[Any, ...]:
    """What pickle writes for a graph."""
    nodes = list(graph.nodes)
    tables = _Tables([], [])
    rows = _Rows(tables)
    tracer = graph._tracer_cls
    state = {
        "records": [_record(node, rows) for node in nodes],
        "tables": tuple(tables),
        "codegen": graph._codegen,
        "tracer_cls": tracer if tracer is not None and _is_importable(tracer) else None,
        "tracer_extras": graph._tracer_extras,
        "names": (graph._graph_namespace._used, graph._graph_namespace._last),
        "code": graph._co_fields,
        "traced": graph.traced,
    }
    keys = tuple([node._sort_key for node in nodes])
    return blank_graph, (FORMAT, type(graph), keys), state, None, None, fill_graph


Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]

_Origins: TypeAlias = tuple[int, ...]
"""Rows of the table of frames: of one origin, or of those that were merged."""


_Record: TypeAlias = tuple[
    str, Any, Args, Kwargs, str, Any, _Origins, int | None, Kwargs | None, Kwargs | None
]
"""One node: op, target, args, kwargs, name, type, origins, scope, meta, attributes.

A plain tuple: pickle writes one of a named kind in twice the time.
"""


class _Tables(NamedTuple):
    """What nodes share; a row names the one outside of it by its number."""

    frames: list[tuple[Place, int | None]]
    scopes: list[tuple[int | None, str, str, Any]]


class _ByName:
    """Stands for a value while it is written: the name that code has for it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return value_named, (self.name,)


# -- what pickles call ---------------------------------------------------------------


@lasting("fxls.engine", "_blank_graph")
def blank_graph(version: int, kind: type[Graph], keys: tuple[int, ...]) -> Graph:
    """A graph of empty nodes with these order labels."""
    require_format(version)
    graph = kind()
    made: dict[int, Node] = {}
    for key in keys:
        node = made[key] = graph._append("root", "", (), EMPTY_KWARGS, "", None)
        node._sort_key = key
    being_read[id(graph)] = made
    return graph


def require_format(version: int) -> None:
    """Refuse what another fxls wrote; raises `pickle.UnpicklingError`."""
    if version != FORMAT:
        raise pickle.UnpicklingError(
            f"the pickle {other_format(version, FORMAT)}. Load it with the fxls that wrote"
            " it, or trace the model again."
        )


@lasting("fxls.engine", "_fill_graph")
def fill_graph(graph: Graph, state: Mapping[str, Any]) -> None:
    """Make the empty nodes into those of the records."""
    made = being_read.pop(id(graph)).values()
    tables = _Tables(*state["tables"])
    frames, scopes = _frames_of(tables), _scopes_of(tables)
    records: list[_Record] = state["records"]
    for node, record in zip(made, records, strict=True):
        op, target, args, kwargs, name, kind, rows, scope, meta, attributes = record
        node._op = op
        node._name = name
        node._type = kind
        node._target = target
        node._args = args
        node._kwargs = freeze_kwargs(kwargs)
        add_uses(node)
        if len(rows) == 1:
            node._origin = frames[rows[0]]
        elif rows:
            node._origin = Merged([frames[row] for row in rows])
        node._scope = None if scope is None else scopes[scope]
        if meta is not None:
            node.meta = meta
        if attributes is not None:
            node.__dict__.update(attributes)
    graph._codegen = state["codegen"]
    graph._tracer_cls = state["tracer_cls"]
    graph._tracer_extras = state["tracer_extras"]
    graph._co_fields = state["code"]
    graph.traced = state["traced"]
    graph._graph_namespace = namespace = Namespace()
    namespace._used, namespace._last = state["names"]
    graph._edits += 1
    graph._has_given_names = graph._may_wrap_torch = True  # as far as is known


# -- from nodes to records and back ----------------------------------------------


def _record(node: Node, rows: _Rows) -> _Record:
    meta = node.noted_all()
    own = node.__dict__
    return (
        node._op,
        _written(node._target),
        map_aggregate(node._args, _written) if _holds_more(node._args) else node._args,
        {k: map_aggregate(v, _written) for k, v in node._kwargs.items()}
        if node._kwargs
        else _NO_KWARGS,
        node._name,
        node._type,
        rows.origins(node._frames),
        rows.scope(node._scope),
        _plain_entries(meta) if isinstance(meta, dict) else None,  # None: not made yet
        _plain_entries(own) if own else None,
    )


_NO_KWARGS: dict[str, Any] = {}
"""The same one for all nodes, so that it is written once."""


def _holds_more(args: Sequence[Any]) -> bool:
    """Whether more than nodes and the usual atoms stand in arguments."""
    return any(type(a) not in _ATOMS and not isinstance(a, Reference) for a in args)


def _written(value: Any) -> Any:
    """A target, or a leaf of an argument, as every protocol of pickle can write it."""
    return _by_name(value) if _needs_name(value) else value


def _needs_name(value: Any) -> bool:
    """Whether pickle cannot write a value, also functions that another one made."""
    if isinstance(value, types.FunctionType):
        return "<locals>" in value.__qualname__
    return isinstance(value, _UNWRITABLE)


def _by_name(value: Any) -> Any:
    known = _names.get(id(value))
    if known is None:
        is_format = isinstance(value, torch.memory_format)
        try:
            named = _ByName(str(value) if is_format else qualified_name(value))
            if value_named(named.name) is not value:
                return value
        except (AttributeError, ImportError, RuntimeError):
            return value  # pickle says what is wrong with it
        known = _names[id(value)] = (value, named)
    return known[1]


@lasting("fxls.engine", "_value_named")
def value_named(name: str) -> Any:
    """The value that code has a name for."""
    module, *path = name.split(".")
    if not path:
        return getattr(builtins, module)
    found: Any = importlib.import_module(module)
    for atom in path:
        found = getattr(found, atom)
    return found


_names: dict[int, tuple[Any, _ByName]] = {}
"""By identity, because torch has functions that are equal and differ in name."""


class _Rows:
    """Fills the tables of a graph that is written."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._origins: dict[int, _Origins] = {}
        self._frames: dict[tuple[int, int | None], int] = {}
        """The row by the id of a place, which the table keeps, and by the row outside."""
        self._scopes: dict[int, int] = {}
        self._chains: dict[int, int | None] = {}

    def origins(self, raw: RawOrigin | None) -> _Origins:
        if raw is None:
            return ()
        row = self._row_of(raw)
        if row is not None:
            return (row,)
        known = self._origins.get(id(raw))
        if known is None:
            found = origin.resolve_all(raw)
            known = self._origins[id(raw)] = tuple(
                [self._chain(one.places) for one in found]
            )
        return known

    def _row_of(self, raw: RawOrigin) -> int | None:
        """The row of an origin whose frames are places; None for any other.

        The usual case, in a third of the time: what is outside of it is known already.
        """
        if id(raw) in self._chains:
            return self._chains[id(raw)]
        row = None
        if not isinstance(raw, Merged):
            outer = None if raw[2] is None else self._row_of(raw[2])
            if outer is not None or raw[2] is None:
                place = origin._step(raw)
                row = self._row(place, outer) if isinstance(place, Place) else None
        self._chains[id(raw)] = row
        return row

    def _chain(self, places: tuple[Place, ...]) -> int:
        """The row of the innermost of these places."""
        row: int | None = None
        for place in reversed(places):
            row = self._row(place, row)
        assert row is not None, "an origin has a place"
        return row

    def _row(self, place: Place, outer: int | None) -> int:
        # An expression has one object of it, as a rule; its hash takes a microsecond.
        key = (id(place), outer)
        row = self._frames.get(key)
        if row is None:
            row = self._frames[key] = len(self._tables.frames)
            self._tables.frames.append((place, outer))
        return row

    def scope(self, snapshot: ScopeSnapshot | None) -> int | None:
        if snapshot is None:
            return None
        row = self._scopes.get(id(snapshot))
        if row is None:
            caller = self.scope(snapshot.caller)
            row = self._scopes[id(snapshot)] = len(self._tables.scopes)
            kind = _plain(snapshot.type)
            self._tables.scopes.append((caller, snapshot.key, snapshot.path, kind))
        return row


def _frames_of(tables: _Tables) -> list[RawOrigin]:
    made: list[RawOrigin] = []
    for place, caller in tables.frames:
        made.append((place, None, None if caller is None else made[caller]))
    return made


def _scopes_of(tables: _Tables) -> list[ScopeSnapshot]:
    made: list[ScopeSnapshot] = []
    for caller, key, path, kind in tables.scopes:
        outer = None if caller is None else made[caller]
        made.append(ScopeSnapshot(outer, key, path, kind))
    return made


# -- what of meta is written -----------------------------------------------------


class _NotPlain(Exception):
    """A value that stays behind."""


def _plain_entries(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are plain all through."""
    plain: dict[str, Any] = {}
    for key, value in entries.items():
        try:
            plain[key] = _plain(value)
        except _NotPlain:
            continue
    return plain


def _plain(value: Any) -> Any:
    """A value of meta as it is written.

    Plain are numbers, texts, nodes, the types, devices, sizes and layouts of tensors,
    functions and classes that can be imported, origins, and tuples, lists, sets and
    dicts of these. A class that cannot be imported becomes its name. Raises _NotPlain.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind in _LEAVES or isinstance(value, Reference):
        return value
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return kind({_plain(k): _plain(v) for k, v in items})
    if isinstance(value, tuple):
        parts = [_plain(part) for part in cast("tuple[Any, ...]", value)]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    if isinstance(value, list | set | frozenset):
        return kind([_plain(part) for part in cast("Sequence[Any]", value)])
    if _needs_name(value):
        named = _by_name(value)
        if named is value:
            raise _NotPlain
        return named
    if callable(value) and _is_importable(value):
        return value
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    raise _NotPlain


def _is_importable(value: Any) -> bool:
    """Whether pickle can write a class or function as a name."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for atom in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, atom, None)
    return found is value


_UNWRITABLE = (
    OpOverload,
    OpOverloadPacket,
    HigherOrderOperator,
    torch.memory_format,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
"""What pickle cannot write, or not in the protocol that `torch.save` uses."""
_ATOMS = frozenset({int, float, str, bool, type(None), complex, bytes, type(...)})
_LEAVES = _ATOMS | {
    Place,
    slice,
    torch.Size,
    torch.device,
    torch.dtype,
    torch.layout,
    torch.qscheme,
}
