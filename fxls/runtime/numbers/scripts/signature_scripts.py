"""Writes an operator that does what its signature does not say as a script.

Torch alone has no such operator, so the script defines it, by the source of what runs when
it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.raisers import is_programs
from fxls.runtime.numbers.replaying import Mode, Segments, alone
from fxls.runtime.numbers.scripts.program_source import Written, of_function
from fxls.runtime.numbers.scripts.reproducing import TORCH
from fxls.runtime.numbers.scripts.script import assembled, function_of
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.passes.graph_state import Row, nodes_in
from fxls.runtime.torch_private import fx, schema_of
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_signature"]

_SHOWS = "The script defines the operator, by the program's own source, and calls it."


def of_signature(
    graph: ReplayedGraph,
    inputs: Mapping[str, Any],
    node: str,
    claim: str,
    *,
    is_writing: bool,
) -> Sequence[Reproducer]:
    """The script for an operator that changes, or gives the memory of, what it is given;
    raises `NotRun`.
    """
    operator, args, kwargs = _call(graph.by_name[node])
    made: Any = fx.Graph()
    names = list(dict.fromkeys(graph.name_of(one) for one in _nodes(args, kwargs)))
    placed = {name: made.placeholder(name) for name in names}

    def moved(one: Any) -> Any:
        return placed[graph.name_of(one)]

    moved_args = fx.node.map_arg((args, kwargs), moved)
    made.output(made.create_node("call_function", operator, *moved_args))

    def run(*given: Any) -> Any:
        known = dict(zip(names, given, strict=True))

        def value(one: Any) -> Any:
            return known[graph.name_of(one)]

        return operator(*fx.node.map_arg(args, value), **fx.node.map_arg(kwargs, value))

    schema: Any = schema_of(operator)
    written = _written(schema, args, kwargs, graph.name_of)
    with alone():
        values = Segments(graph, inputs).values(names, Mode.OWN)
        values = {**inputs, **values}
        kernel = _kernel(lambda: run(*[_own(values[name]) for name in names]))
        space, _, signature = str(schema).partition("::")
        functions = [
            of_function(kernel, "kernel"),
            function_of(made, "function", own=space),
        ]
        for texts, said, known in variants(names, values):
            given = [known[name] for name in names]
            changed, shared = _done(run, names, given)
            if (changed <= written) if is_writing else not shared:
                continue
            asked = _WRITES.format([*names], sorted(written)) if is_writing else _GIVES
            end = _end(space, signature, asked)
            text = assembled(functions, texts, [end])
            return [Reproducer(claim, text, 1, False, said, TORCH, _SHOWS)]  # noqa: FBT003  # it is a field
    return []


def _call(row: Row) -> tuple[Any, Any, Any]:
    """The operator that a node calls, and with what; raises `NotRun`."""
    if "auto_functionalized" not in str(row.target):
        return row.target, row.args, row.kwargs
    operator, kwargs = row.args[0], dict(row.kwargs)
    bases = kwargs.pop("_all_bases", ())
    schema: Any = schema_of(operator)
    given: dict[str, Any] = {}
    for one in schema.arguments:
        if f"_{one.name}_base_index" in kwargs:
            at = kwargs.pop(f"_{one.name}_base_index")
            given[one.name] = None if at is None else bases[at]
        elif one.name in kwargs:
            given[one.name] = kwargs.pop(one.name)
    if kwargs:
        raise NotRun(f"{row.name} is given parts of values")
    return operator, (), given


def _nodes(args: Any, kwargs: Any) -> list[Any]:
    return [node for _, node in nodes_in((args, kwargs))]


def _written(
    schema: Any, args: Any, kwargs: Any, name_of: Callable[[Any], str]
) -> set[str]:
    """The inputs of which a signature says that they are changed."""
    found: set[str] = set()
    for at, one in enumerate(schema.arguments):
        value = args[at] if at < len(args) else kwargs.get(one.name)
        if one.alias_info is not None and one.alias_info.is_write:
            found |= {name_of(node) for node in _nodes(value, ())}
    return found


def _kernel(call: Callable[[], Any]) -> Written:
    """The first function of the program that a call runs; raises `NotRun`."""
    found: list[Written] = []

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and not found and is_programs(frame.f_code):
            free = frame.f_code.co_freevars
            known = {one: frame.f_locals[one] for one in free if one in frame.f_locals}
            found.append(Written(frame.f_code, {**frame.f_globals, **known}))

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        ended = attempt(call)
    finally:
        sys.setprofile(before)
    if not found:
        raised = isinstance(ended, Raised)
        why = "it raises" if raised else "none of the program's functions is its kernel"
        raise NotRun(why)
    return found[0]


def _done(
    run: Any, names: Sequence[str], given: Sequence[Any]
) -> tuple[set[str], bool]:
    """The inputs that a call changes, and whether it gives the memory of one."""
    before = [*map(_own, given)]
    result = attempt(lambda: run(*given))
    if isinstance(result, Raised):
        return set(), False
    changed = {
        name
        for name, one, was in zip(names, given, before, strict=True)
        if isinstance(one, torch.Tensor) and not has_numbers_of(one, was)
    }
    memory = {*map(_memory, leaves(result))} & {*map(_memory, given)} - {0}
    return changed, bool(memory)


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def _memory(value: Any) -> int:
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else 0


_WRITES = """\
NAMES = {}
WRITTEN = {}  # as its signature says


def lie(given, before, result):
    for name, one, was in zip(NAMES, given, before):
        if isinstance(one, torch.Tensor) and name not in WRITTEN:
            is_same = (one == was) | (one != one) & (was != was)  # NaN is the same
            if not is_same.all():
                return f"it changes {{name}}"
"""
_GIVES = """\
def memory(values):
    many = values if isinstance(values, (tuple, list)) else [values]
    tensors = [one for one in many if isinstance(one, torch.Tensor)]
    return {one.untyped_storage().data_ptr() for one in tensors if one.numel()}


def lie(given, before, result):
    if memory(given) & memory(result):
        return "it gives memory of what it is given"
"""


def _end(space: str, signature: str, asked: str) -> str:
    name = signature.partition("(")[0]
    return f'''\
library = torch.library.Library("{space}", "FRAGMENT")
library.define("{signature}")
library.impl("{name}", kernel, "CompositeExplicitAutograd")


{asked}

with torch.no_grad():
    given, before = inputs(), inputs()
    found = lie(given, before, function(*given))
if found:
    print(f"wrong: {{found}}, and its signature does not say so")
    sys.exit(1)
print("right: it does what its signature says")
'''
