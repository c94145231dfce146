"""The inputs that a graph of a compilation really got, or a graph in a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from fxls.attempt import attempt
from fxls.runtime.numbers.graphs import NeverRan, NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.kept import Change, KeptCompilation
from fxls.runtime.numbers.replaying import replayed
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import GraphState, Row, is_node
from fxls.runtime.torch_private import TANGENTS

__all__ = ["inputs_of", "inputs_of_joint", "inputs_of_part"]

any_torch: Any = torch

_NOBODY = "nobody knows the inputs of a graph in a graph"


def inputs_of(kept: KeptCompilation, graph: ReplayedGraph) -> Mapping[str, Any]:
    """The inputs that a graph really got, by name, in the layout that it was traced with;
    some may be missing.

    Raises `NotRun` where there are none.
    """
    return _laid_out(_given(kept, graph), graph)


def inputs_of_joint(kept: KeptCompilation, graph: ReplayedGraph) -> Mapping[str, Any]:
    """The inputs of a graph of both halves: those of the first call, and the gradients of
    the first backward.

    Where a function is called again before it, that backward is of a later call, and
    what it saved is of that call as well. Raises `NotRun` as `inputs_of` does, and where
    an input of the first call is not known.
    """
    given = Values(_given(kept, graph))
    forward = Values()
    for call in kept.calls:
        if call.happened and not call.is_backward and not call.why_not:
            forward |= call.values
    for name in graph.inputs:
        if name in forward:
            given.take(forward, [name])
        elif not name.startswith(TANGENTS):
            raise NotRun(f"nobody saw {name} in the first call")
    return _laid_out(given, graph)


def _given(kept: KeptCompilation, graph: ReplayedGraph) -> Mapping[str, Any]:
    wanted = set(graph.inputs)
    calls = [one for one in kept.calls if one.happened and not one.why_not]
    if tuple(kept.call.names) == graph.inputs:
        calls.insert(0, kept.call)
    for call in calls:
        if wanted <= call.values.keys():
            return call.values
    merged = Values()
    for call in reversed(calls):
        merged |= call.values
    found = Values(room=merged.room)
    found.take(merged, [name for name in graph.inputs if name in merged])
    if not found and wanted:
        raise NotRun("nobody saw its inputs")
    return found


def _laid_out(values: Mapping[str, Any], graph: ReplayedGraph) -> Mapping[str, Any]:
    """Values with the strides that a graph notes of its inputs.

    The code of inductor's saves values in another layout where that is faster, and a
    backward graph has views that are possible in the layout of its trace alone.
    """
    found = Values(values)
    for name in graph.inputs:
        value = found.get(name)
        noted = graph.said_of(graph.by_name[name]).get("val")
        if isinstance(value, torch.Tensor) and isinstance(noted, torch.Tensor):
            moved = attempt(lambda value=value, noted=noted: _as_noted(value, noted))
            if isinstance(moved, torch.Tensor):
                found[name] = moved
    return found


def _as_noted(value: torch.Tensor, noted: torch.Tensor) -> torch.Tensor | None:
    """A copy with the strides of a tensor of the same shape; None where it has them."""
    form = (tuple(noted.shape), noted.stride())
    sizes = [*form[0], *form[1]]
    if not all(type(size) is int for size in sizes) or form[0] != tuple(value.shape):
        return None
    if value.stride() == form[1] or not value.numel():
        return None
    with any_torch.no_grad():
        copied = torch.empty_strided(*form, dtype=value.dtype, device=value.device)
        return copied.copy_(value)


def inputs_of_part(kept: KeptCompilation, one: Change) -> Mapping[str, Any]:
    """The inputs of a graph that an operator of another graph calls, by name.

    They are what this operator is given, in its first call. Raises `NotRun` where nobody
    knows that, and where the operator does not call this graph.
    """
    path, names = one.told.subgraph or "", one.after.inputs
    for state in _wholes(kept, one.step.capture.stage):
        whole = ReplayedGraph(state)
        at = next((r for r in whole.rows if _is_part(r, path)), None)
        caller = at and next((r for r in whole.rows if at.name in whole.uses(r)), None)
        if at is None or caller is None:
            continue
        values = replayed(whole, inputs_of(kept, whole)).values
        given = leaves((caller.args, caller.kwargs))
        if getattr(caller.target, "__name__", "") == "cond":
            asked = values.get(whole.name_of(given[0]))
            if asked is None or (given.index(at.node) == 1) != bool(asked):
                raise NeverRan("the program did not come to this branch")
        found = [
            values.get(whole.name_of(arg)) if is_node(arg) else arg
            for arg in given[len(given) - len(names) :]
        ]
        if len(found) != len(names) or any(value is None for value in found):
            raise NotRun(_NOBODY)
        return dict(zip(names, found, strict=True))
    raise NotRun(_NOBODY)


def _wholes(kept: KeptCompilation, stage: str) -> Iterator[GraphState]:
    """The graphs of a stage that are no graphs in others."""
    if stage.endswith("pre-grad"):
        yield kept.captured
    for one in kept.lowered:
        if one.state is not None and one.is_backward == ("backward" in stage):
            yield one.state
    for change in kept.changes:
        if change.step.capture.stage == stage and not change.told.subgraph:
            yield from (change.before, change.after)
    if kept.traced is not None:
        yield kept.traced


def _is_part(row: Row, path: str) -> bool:
    return row.opcode == "get_attr" and str(row.target) == path
