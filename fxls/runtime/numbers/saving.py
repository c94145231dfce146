"""What a backward is given of the inputs of its forward, where that has changed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.precision import Verdict, judged
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.verdicts.comparison import Evidence

__all__ = ["WronglySaved", "wrongly_saved"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class WronglySaved:
    """An input that is saved for the backward, and that the forward overwrites before."""

    name: str
    users: Sequence[str]
    """The nodes of the backward that read it."""
    evidence: Evidence
    confirmed: str


def wrongly_saved(
    joint: ReplayedGraph, backward: ReplayedGraph, calls: Sequence[KeptCall]
) -> WronglySaved | None:
    """The first input of both halves that the joint graph overwrites, and of which the
    backward was given what it is afterwards; None where that changes no gradient.
    """
    wanted = {name for name in joint.written if name in backward.inputs}
    later = next(
        (one for one in calls if set(backward.inputs) <= one.values.keys()), None
    )
    if not wanted or later is None:
        return None
    for name in backward.inputs:
        first = next(
            (one for one in calls if one is not later and name in one.values), None
        )
        if name not in wanted or first is None:
            continue
        right, got = first.values[name], later.values[name]
        if any_torch.equal(right, got):
            continue
        found = judged(got, right, lambda: None, lambda right=right: right.double())
        changed = _changed(backward, later.values, {name: right})
        if found.verdict is Verdict.WRONG and found.evidence and changed:
            users = [row.name for row in backward.rows if name in backward.uses(row)]
            how = (
                f"the forward overwrites {name} before the backward reads it; with the"
                f" value that it had, {changed} of what the backward returns is otherwise"
            )
            return WronglySaved(name, users, found.evidence, how)
    return None


def _changed(
    graph: ReplayedGraph, inputs: Mapping[str, Any], right: Mapping[str, Any]
) -> int:
    """How many of its results are others with the right values."""
    names = {str(one) for one in graph.outputs if isinstance(one, NodeName)}
    count = 0
    for name in names:
        try:
            one, other = (
                Segments(graph, given).value(name, Mode.OWN)
                for given in (inputs, {**inputs, **right})
            )
        except NotRun:
            continue
        count += isinstance(one, torch.Tensor) and not any_torch.allclose(one, other)
    return count
