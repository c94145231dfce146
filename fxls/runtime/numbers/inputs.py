"""The inputs that a graph of a compilation really got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.kept import KeptCompilation

__all__ = ["inputs_of"]


def inputs_of(kept: KeptCompilation, graph: ReplayedGraph) -> Mapping[str, Any]:
    """The inputs that a graph really got, by name; some may be missing.

    Raises `NotRun` where there are none.
    """
    wanted = set(graph.inputs)
    calls = [one for one in kept.calls if one.happened and not one.why_not]
    if tuple(kept.call.names) == graph.inputs:
        calls.insert(0, kept.call)
    for call in calls:
        if wanted <= call.values.keys():
            return call.values
    merged: dict[str, Any] = {}
    for call in reversed(calls):
        merged |= call.values
    found = {name: merged[name] for name in graph.inputs if name in merged}
    if not found and wanted:
        raise NotRun("nobody saw its inputs")
    return found
