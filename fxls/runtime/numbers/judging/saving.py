"""What a backward is given of what its forward saves, where it should be something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph, doubled
from fxls.runtime.numbers.judging.precision import Verdict, judged
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.verdicts.comparison import Evidence

__all__ = ["WronglySaved", "exchanged", "wrongly_saved"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class WronglySaved:
    """A value that is saved for the backward, and is not the one that it counts on."""

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
        found = judged(got, right, lambda: None, lambda right=right: doubled(right))
        changed = _changed(backward, later.values, {name: right})
        if found.verdict is Verdict.WRONG and found.evidence and changed:
            users = [row.name for row in backward.rows if name in backward.uses(row)]
            how = (
                f"the forward overwrites {name} before the backward reads it; with the"
                f" value that it had, {changed} of what the backward returns is otherwise"
            )
            return WronglySaved(name, users, found.evidence, how)
    return None


def exchanged(
    joint: ReplayedGraph,
    halves: tuple[ReplayedGraph, ReplayedGraph],
    calls: Sequence[KeptCall],
) -> WronglySaved | None:
    """The first value that the forward saves in the place of another one that it saves as
    well; None where that changes no gradient.
    """
    forward, backward = halves
    later = next(
        (one for one in calls if set(backward.inputs) <= one.values.keys()), None
    )
    own = max(len(joint.outputs) - len(backward.outputs), 0)
    saved = [str(one) for one in forward.outputs[own:] if _is_tensor(forward, one)]
    wanted = [
        name
        for name in backward.inputs
        if _is_tensor(backward, name)
        and (name not in joint.inputs or name in forward.inputs)
    ]
    if later is None or len(saved) != len(wanted) or set(saved) != set(wanted):
        return None
    given = dict(zip(saved, wanted, strict=True))
    right = {
        name: later.values[place] for name, place in given.items() if name != place
    }
    for name, value in right.items():
        got = later.values[name]
        found = judged(got, value, lambda: None, lambda value=value: doubled(value))
        changed = _changed(backward, later.values, right)
        if found.verdict is Verdict.WRONG and found.evidence and changed:
            users = [row.name for row in backward.rows if name in backward.uses(row)]
            other = next(one for one, place in given.items() if place == name)
            how = (
                f"the backward is given {other} where it reads {name}; with the right"
                f" values, {changed} of what the backward returns is otherwise"
            )
            return WronglySaved(name, users, found.evidence, how)
    return None


def _is_tensor(graph: ReplayedGraph, name: Any) -> bool:
    row = graph.by_name.get(str(name))
    return row is not None and isinstance(row.node.meta.get("val"), torch.Tensor)


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
