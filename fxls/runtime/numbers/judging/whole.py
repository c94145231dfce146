"""What a compiled function returned, judged by the captured graph as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph, randomness
from fxls.runtime.numbers.judging.precision import OF_CODE, Verdict, judged
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed
from fxls.verdicts.comparison import Evidence

__all__ = ["WrongOutput", "wrong_output"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class WrongOutput:
    """Something that a function returned and that its graph does not return."""

    name: str
    """The node of the captured graph."""
    evidence: Evidence


def wrong_output(graph: ReplayedGraph, call: KeptCall) -> WrongOutput | None:
    """The first wrong thing that a call returned; raises `NotRun`.

    The graph is run from its first node to its last, so it may change values in place.
    """
    assert call.outputs is not None, "its caller asks"
    if any("_autocast" in getattr(row.target, "__name__", "") for row in graph.rows):
        raise NotRun("it switches autocast")
    runs: dict[Mode, Mapping[str, Any]] = {}
    random: set[Mode] = set()

    def value(name: str, mode: Mode) -> Any:
        if mode not in runs:
            try:
                runs[mode], is_random = _returned(graph, call, mode)
                random.update([mode] * is_random)
            except NotRun:
                if mode is Mode.OWN:
                    raise
                runs[mode] = {}
        return runs[mode].get(name)

    for one, actual in zip(graph.outputs, call.outputs, strict=False):
        if not isinstance(one, NodeName) or not isinstance(actual, torch.Tensor):
            continue
        own = value(one, Mode.OWN)
        if not isinstance(own, torch.Tensor):
            continue
        found = judged(
            actual,
            own,
            lambda one=one: value(one, Mode.MOVED),
            lambda one=one: value(one, Mode.EXACT),
            OF_CODE,
        )
        if found.verdict is not Verdict.RIGHT and random:
            raise NotRun("it draws random numbers")  # and may draw them in another way
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            return WrongOutput(str(one), found.evidence)
    return None


def _returned(
    graph: ReplayedGraph, call: KeptCall, mode: Mode
) -> tuple[Mapping[str, Any], bool]:
    """What a graph returns with the random numbers of a call, and whether it draws any."""
    with alone():
        if call.randomness is not None:
            any_torch.set_rng_state(call.randomness)
        before = randomness()
        values = {
            name: formed(call.values[name], mode, graph.order[name])
            for name in graph.inputs
        }
        compute(graph, values, mode, wanted=map(str, graph.outputs))
        is_random = not any_torch.equal(before, randomness())
    found = {str(one): values[one] for one in graph.outputs if one in values}
    return found, is_random
