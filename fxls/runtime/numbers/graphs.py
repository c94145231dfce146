"""A graph that is kept, and its nodes as they are run one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import torch

from fxls.engine.origins.resolve import RawOrigin
from fxls.runtime.listings.quiet_reading import attribute_at
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.writes import Writes, writes_in
from fxls.runtime.passes.graph_state import GraphState, Row, is_node, nodes_in
from fxls.runtime.producers.places.stack_traces import origin_of
from fxls.runtime.torch_private import fx, is_code_alone, is_view, schema_of

__all__ = [
    "NeverRan",
    "NodeName",
    "NotRun",
    "ReplayedGraph",
    "doubled",
    "draw_from",
    "is_on_gpu",
    "is_plain",
    "leaves",
    "randomness",
    "widened",
]

any_torch: Any = torch


class NotRun(Exception):
    """A node cannot be run here; the message is a clause that says why."""


class NeverRan(NotRun):
    """The program did not run it, so that no number of the program is of it."""


class ReplayedGraph:
    """The nodes of a graph as they were at one moment, by their names then."""

    def __init__(self, state: GraphState) -> None:
        self.state = state
        self._module: Any = state.module
        self.rows = [row for row in state.rows if row.opcode != "output"]
        self._names = {row.node: row.name for row in state.rows}
        self.inputs = tuple(state.inputs)
        last = [row for row in state.rows if row.opcode == "output"]
        returned = leaves(last[0].args) if last else []
        self.outputs = tuple(
            NodeName(self.name_of(one)) if is_node(one) else one for one in returned
        )
        """What it returns, flat: names of nodes where it is a `NodeName`."""

    @cached_property
    def written(self) -> Mapping[str, NodeName]:
        """The inputs that it overwrites, each with the node whose value it gets."""
        found: dict[str, NodeName] = {}
        for row in self.rows:
            if _is_copy(row.target) and row.args and is_node(row.args[0]):
                to = self.name_of(row.args[0])
                if to in self.inputs:
                    found[to] = NodeName(row.name)
        return found

    @cached_property
    def in_place(self) -> str:
        """The first node that changes a value which others may read; empty where none does,
        as far as operators say. An input is mostly overwritten behind its last reader.
        """
        return self._overwriting[0]

    @cached_property
    def transforming(self) -> str:
        """The first node that enters a transform of torch.func, as ``vmap`` is one; empty
        where none does. What is computed inside has no value outside.
        """
        named = ((row.name, getattr(row.target, "__name__", "")) for row in self.rows)
        ends = "_increment_nesting"
        return next((name for name, called in named if called.endswith(ends)), "")

    @property
    def overwritten(self) -> Mapping[str, str]:
        """By each input that is overwritten in the end, and each view of it, the node that
        does so.
        """
        return self._overwriting[1]

    @cached_property
    def returned_too_late(self) -> str:
        """The node that overwrites an input whose memory the graph returns; empty where
        there is none.
        """
        found = (self.overwritten.get(str(one), "") for one in self.outputs)
        return next(filter(None, found), "")

    @cached_property
    def _overwriting(self) -> tuple[str, Mapping[str, str]]:
        """`in_place`, and, until then, `overwritten`."""
        overwritten: dict[str, str] = {}
        bases: dict[str, str] = {}
        for row in self.rows:
            uses = self.uses(row)
            if any(one in overwritten for one in uses):
                return row.name, overwritten
            if is_view(row.target) and uses:
                bases[row.name] = bases.get(uses[0], uses[0])
            if not _writes(row.target):
                continue
            to = self.name_of(row.args[0]) if row.args and is_node(row.args[0]) else ""
            if not _is_copy(row.target) or to not in self.inputs:
                return row.name, overwritten
            sharing = (n for n, base in bases.items() if base == to)
            overwritten |= dict.fromkeys((to, *sharing), row.name)
        return "", overwritten

    @cached_property
    def writes(self) -> Writes:
        """What its nodes change in place, as far as their operators say."""
        return writes_in(self.rows, self.name_of, self.uses, self.written)

    @cached_property
    def is_captured(self) -> bool:
        """Whether it calls functions of Python, of which nobody knows what they change."""
        return any(
            row.opcode in ("call_method", "call_module")
            or (row.opcode == "call_function" and schema_of(row.target) is None)
            for row in self.rows
        )

    @property
    def results(self) -> Sequence[Any]:
        """What it returns, as in `outputs`, and behind that what it overwrites."""
        return (*self.outputs, *self.written.values())

    @cached_property
    def by_name(self) -> Mapping[str, Row]:
        """The nodes."""
        return {row.name: row for row in self.rows}

    @cached_property
    def order(self) -> Mapping[str, int]:
        """At which place each node stands."""
        return {row.name: at for at, row in enumerate(self.rows)}

    def uses(self, row: Row) -> list[str]:
        """The nodes that a node reads."""
        both = (row.args, row.kwargs)
        return list(dict.fromkeys(self.name_of(node) for _, node in nodes_in(both)))

    def needs(self, row: Row) -> list[str]:
        """The nodes that a node reads, and those that wrote what it reads until then."""
        return [*self.uses(row), *self.writes.before.get(row.name, ())]

    def name_of(self, node: Any) -> str:
        """The name that a node had."""
        return self._names.get(node, "")

    def said_of(self, row: Row) -> Mapping[str, Any]:
        """What a node noted of itself when the graph was as it is here."""
        return self.state.meta_of(row.node)

    def origin(self, name: str) -> RawOrigin | None:
        """Where a node came from, as far as torch notes it."""
        row = self.by_name.get(name)
        return None if row is None else origin_of(row.node.meta)

    def bytes_of_values(self) -> int:
        """What all values of the graph need, as far as torch knows their sizes."""
        return sum(_bytes_of(row.node.meta) for row in self.rows)

    def run(
        self,
        row: Row,
        values: Callable[[str], Any],
        *,
        in_double: bool = False,
        in_place: bool = False,
    ) -> Any:
        """What a node computes of the values of others; raises whatever it raises.

        With `in_place` it changes those that its operator says it changes, and otherwise
        copies of them.
        """

        def value(node: Any) -> Any:
            return values(self.name_of(node))

        args = fx.node.map_arg(row.args, value)
        kwargs = fx.node.map_arg(row.kwargs, value)
        if in_double:
            args = fx.node.map_aggregate(args, _in_double)
            kwargs = fx.node.map_aggregate(kwargs, _in_double)
        if row.opcode == "get_attr":
            return self._attribute(row)
        if row.opcode == "call_module":
            if in_double:
                raise NotRun("a module holds parameters in its own dtype")
            return self._attribute(row)(*args, **kwargs)
        if row.opcode == "call_method":
            return _call_method(row.target, in_double, args, kwargs)
        if row.opcode != "call_function":
            raise NotRun(f"nothing runs a {row.opcode}")
        if is_code_alone(row.target):
            raise NotRun("inductor has code for it, and no operator")
        if in_double and _reads_bits(row.target):
            raise NotRun("it reads the bits of a value")
        if in_place:
            return row.target(*args, **kwargs)
        return _call(row.target, args, kwargs)

    def _attribute(self, row: Row) -> Any:
        held = row.held()
        found = held if held is not None else attribute_at(self._module, row.target)
        if found is None:
            raise NotRun(f"the graph holds no {row.target} any more")
        return found


class NodeName(str):
    """The name of a node, where other texts may stand as well."""

    __slots__ = ()


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor of which all is known."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    tensor = cast("torch.Tensor", value)
    return tensor.layout is torch.strided and not tensor.is_quantized


def leaves(value: Any) -> list[Any]:
    """The tensors in a value, and all else that is in no list, tuple or dict."""
    if isinstance(value, tuple | list):
        return [leaf for one in cast("list[Any]", value) for leaf in leaves(one)]
    if isinstance(value, Mapping):
        return leaves([*cast("Mapping[Any, Any]", value).values()])
    return [value]


def is_on_gpu() -> bool:
    """Whether this process has used a GPU; to ask begins nothing there."""
    return any_torch.cuda.is_initialized()


def randomness() -> Any:
    """The state of the generators that nodes draw from, to be compared and put back."""
    of_cpu = any_torch.get_rng_state()
    if not is_on_gpu():
        return of_cpu
    return any_torch.cat([of_cpu, any_torch.cuda.get_rng_state()])


def draw_from(state: Any) -> None:
    """Let the generators be in a state that they had."""
    length = any_torch.get_rng_state().numel()
    any_torch.set_rng_state(state[:length])
    if state.numel() > length:
        any_torch.cuda.set_rng_state(state[length:])


def _call(target: Any, args: Any, kwargs: Any) -> Any:
    # In a graph of aten it is the last thing that is done to an input; the value counts.
    if _is_copy(target) and len(args) == 2:
        to, source = args
        if isinstance(to, torch.Tensor) and isinstance(source, torch.Tensor):
            return source.expand(to.shape).to(
                source.dtype if source.dtype == torch.float64 else to.dtype
            )
    if _writes(target):
        args, kwargs = fx.node.map_aggregate((args, kwargs), _copied)
    return target(*args, **kwargs)


def _copied(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def _writes(target: Any) -> bool:
    schema: Any = schema_of(target)
    return schema is not None and schema.is_mutable


def _is_copy(target: Any) -> bool:
    return getattr(target, "__name__", "") in ("copy_", "copy_.default")


def _call_method(name: str, in_double: bool, args: Any, kwargs: Any) -> Any:  # noqa: FBT001  # private
    if in_double and name in ("float", "half", "bfloat16"):
        name = "double"
    return getattr(args[0], name)(*args[1:], **kwargs)


_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def _in_double(value: Any) -> Any:
    """An argument as it is where every number has 64 bits."""
    if isinstance(value, torch.Tensor):
        return doubled(value)
    is_float = isinstance(value, torch.dtype) and value in _FLOATS
    return torch.float64 if is_float else value


def doubled(value: torch.Tensor) -> torch.Tensor:
    """A tensor with 64 bits for each number, if its numbers are floating."""
    if value.dtype in _FLOATS:
        return value.double()
    return value.to(torch.complex128) if value.dtype == torch.complex64 else value


def widened(value: torch.Tensor) -> torch.Tensor:
    """A tensor with 64 bits for each number, of whatever kind it is; twice where complex."""
    return value.to(torch.complex128) if value.is_complex() else value.double()


def _reads_bits(target: Any) -> bool:
    return str(target) in ("aten.view.dtype", "prims.view_element_type.default")


def _bytes_of(meta: Mapping[str, Any]) -> int:
    total = 0
    for one in leaves(meta.get("val", meta.get("example_value"))):
        if isinstance(one, torch.Tensor):
            # The size may be a symbol, whatever a type checker is told.
            given: list[Any] = [*one.shape]
            sizes = [size if isinstance(size, int) else 64 for size in given]
            total += math.prod(sizes) * one.element_size()
    return total
