"""Writes the values that the captured graphs of a program have."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt, attempting
from fxls.engine.ir.target_names import pretty_target
from fxls.runtime.faults import saying
from fxls.runtime.numbers.blame import where
from fxls.runtime.numbers.elsewhere.values_file import KeptGraph, KeptValues, write
from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    leaves,
    randomness,
)
from fxls.runtime.numbers.inputs import inputs_of
from fxls.runtime.numbers.kept import Copies, KeptCompilation, copy_of
from fxls.runtime.numbers.replaying import (
    ChangesInPlace,
    Mode,
    Replay,
    alone,
    compute,
    raised_by,
    replayed,
)
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import fx, ranks_of_group, schema_of
from fxls.verdicts.agreement import SCHEMA, Agreement, Environment
from fxls.verdicts.comparison import Unseen

__all__ = ["environment", "keep", "node_text", "run_of", "whole_graph"]

any_torch: Any = torch

_GROUP = "group_name"
"""The argument of a collective operation that says who takes part."""


def keep(
    compilations: Iterable[KeptCompilation],
    copies: Copies,
    path: Path,
    raised: str | None,
) -> Agreement:
    """Write the values of each captured graph that was called into a new file."""
    graphs: list[KeptGraph] = []
    unseen: list[Unseen] = []
    left = copies.left
    compilations = [*compilations]
    for kept in compilations:

        def failed(error: Exception, kept: KeptCompilation = kept) -> None:
            if not isinstance(error, NotRun):
                saying(f"the values of {kept.stage} are not kept")(error)
            unseen.append(Unseen(kept.name, kept.stage, "the graph", str(error)))

        with attempting(failed), kept.defaults.in_force():
            graph = whole_graph(kept, left)
            left -= graph.bytes_of_values()
            graphs.append(_kept(kept, graph))
    here = environment(compilations)
    refused = ""
    if graphs:
        done = attempt(lambda: write(KeptValues(here, graphs), path))
        if isinstance(done, Raised):
            refused = f"it cannot be written: {raised_by(done.error)}"
    count = sum(len(one.computed) for one in graphs)
    return Agreement(
        *(SCHEMA, here, None, len(graphs), count),
        unseen=tuple(unseen),
        raised=raised,
        refused=refused,
    )


def whole_graph(kept: KeptCompilation, left: int) -> ReplayedGraph:
    """A captured graph whose values can be had, in so many bytes; raises `NotRun`."""
    if not kept.call.happened:
        raise NotRun("its compiled code was never called")
    if kept.call.why_not:
        raise NotRun(kept.call.why_not)
    graph = ReplayedGraph(kept.captured)
    need = graph.bytes_of_values()
    if need > left:
        raise NotRun(f"its values need {need >> 20} MB, and {left >> 20} MB are left")
    return graph


def environment(compilations: Iterable[KeptCompilation]) -> Environment:
    """What computes values in this process."""
    devices = {
        value.device.type: None
        for kept in compilations
        for value in leaves(kept.call.values)
        if isinstance(value, torch.Tensor)
    }
    version = str(any_torch.__version__)
    return Environment(version, platform.python_version(), tuple(devices))


def node_text(
    graph: ReplayedGraph, row: Row, name_there: Callable[[str], str] = str
) -> str:
    """What a node is, by which it is known in a graph of another process."""

    def named(node: Any) -> Any:
        return NodeName(name_there(graph.name_of(node)))

    both = fx.node.map_arg((row.args, row.kwargs), named)
    return f"{row.opcode} {pretty_target(row.target)} {both}"


def _kept(kept: KeptCompilation, graph: ReplayedGraph) -> KeptGraph:
    run = run_of(kept, graph)
    found = _returned(kept, graph) if run is None else run.values
    values = {name: _plain(value) for name, value in found.items()}
    return KeptGraph(
        *(kept.name, kept.stage),
        {row.name: node_text(graph, row) for row in graph.rows},
        {name: value for name, value in values.items() if value is not None},
        [] if run is None else sorted(run.random),
        run is None,
        {row.name: place for row in graph.rows if (place := _place(graph, row.name))},
        dict(_groups(graph)),
    )


def _groups(graph: ReplayedGraph) -> Iterator[tuple[str, Sequence[int]]]:
    """The collective operations of a graph, and the ranks that take part in each."""
    for row in graph.rows:
        schema: Any = schema_of(getattr(row.target, "default", row.target))
        names = [] if schema is None else [one.name for one in schema.arguments]
        if _GROUP in names:
            at = names.index(_GROUP)
            group = row.args[at] if at < len(row.args) else row.kwargs.get(_GROUP)
            yield row.name, ranks_of_group(group)


def _place(graph: ReplayedGraph, name: str) -> str:
    """Where a node is from; of several expressions around one another the innermost."""
    found = next(iter(where(graph, name).places), None)
    if found is None:
        return ""
    start = found.span.start
    return f"{Path(found.path).name}:{start.line + 1}:{start.column + 1}"


def run_of(kept: KeptCompilation, graph: ReplayedGraph) -> Replay | None:
    """The values of all nodes; None where nodes change values in place.

    Raises `NotRun` where nothing can be said of the graph.
    """
    inputs = {name: _own(one) for name, one in inputs_of(kept, graph).items()}
    try:
        return replayed(graph, inputs)
    except ChangesInPlace:
        return None


def _returned(kept: KeptCompilation, graph: ReplayedGraph) -> dict[str, Any]:
    """The inputs of a graph that changes values in place, and what it returns."""
    with alone():
        before = randomness()
        values = {name: _own(one) for name, one in kept.call.values.items()}
        compute(graph, values, Mode.OWN)
        if not any_torch.equal(before, randomness()):
            raise NotRun("it draws random numbers")
    outputs = {str(one) for one in graph.outputs if isinstance(one, NodeName)}
    return {**{name: values[name] for name in outputs}, **kept.call.values}


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def _plain(value: Any) -> Any:
    """A value of tensors, numbers and lists; None for one that has something else."""
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        return value.detach()
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, torch.SymInt):
        return int(value)
    if isinstance(value, tuple | list):
        items = cast("Sequence[Any]", value)
        parts = [_plain(one) for one in items]
        return None if any(one is None for one in parts) else parts
    return None
