"""Whether what a graph returns is otherwise because of values that are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fxls.runtime.numbers.claims import Suspicion
from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph
from fxls.runtime.numbers.replaying import Mode, Segments

__all__ = ["confirmed"]

any_torch: Any = torch

_NEGLIGIBLE = 64
"""So many roundings of the largest element are no change of an output."""
_EXPLAINED = 0.1
"""What is left of the change of an output, once the wrong values are put in, when they
are what changed it."""


def confirmed(
    before: ReplayedGraph,
    inputs: Mapping[str, Any],
    outputs: Sequence[Any],
    wrong: Sequence[Suspicion],
    drawn: Mapping[str, Any],
) -> tuple[Suspicion, str | None]:
    """The first wrong value that matters, and how that is known.

    The graph before is run twice: as it is, and with the wrong values put in; both with
    the random numbers that were drawn. The text
    is empty where what it returns is the same anyhow, and None where nobody can know.
    """
    start = {**inputs, **drawn}
    names = [str(one) for one in before.outputs if isinstance(one, NodeName)]
    actual = [
        got
        for one, got in zip(before.outputs, outputs, strict=False)
        if isinstance(one, NodeName)
    ]
    if len(outputs) != len(before.outputs):
        return wrong[0], None
    put_in = {one.name: one.actual for one in wrong}
    seen: list[str] = []
    compared = explained = 0
    for name, got in zip(names, actual, strict=True):
        usual = _output(before, start, name)
        with_wrong = _output(before, {**start, **put_in}, name)
        if not isinstance(got, torch.Tensor) or usual is None or with_wrong is None:
            continue
        compared += 1
        off = _distance(usual, got)
        if off <= _negligible(usual):
            continue
        seen.append(name)
        left = _distance(with_wrong, got)
        explained += left <= max(_EXPLAINED * off, _negligible(usual))
    if compared and not seen:
        return wrong[0], ""
    if not explained:
        return wrong[0], None
    how = (
        "with the wrong value put in, the graph before returns the same wrong outputs "
        f"({explained} of {len(seen)})"
    )
    return _first_that_matters(before, start, seen, wrong), how


def _first_that_matters(
    graph: ReplayedGraph,
    start: Mapping[str, Any],
    outputs: Sequence[str],
    wrong: Sequence[Suspicion],
) -> Suspicion:
    """The first wrong value by which alone an output is another one."""
    for one in wrong:
        for name in outputs:
            usual = _output(graph, start, name)
            got = _output(graph, {**start, one.name: one.actual}, name)
            if usual is None or got is None:
                continue
            if _distance(usual, got) > _negligible(usual):
                return one
    return wrong[0]


def _output(
    graph: ReplayedGraph, start: Mapping[str, Any], name: str
) -> torch.Tensor | None:
    try:
        found = Segments(graph, start).value(name, Mode.OWN)
    except NotRun:
        return None
    return found if isinstance(found, torch.Tensor) else None


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    if one.shape != other.shape:
        return float("inf")
    both = one.isfinite() & other.isfinite()
    if any_torch.equal(one.isfinite(), other.isfinite()):
        off = (one.double() - other.double()).abs()[both]
        return float(off.max()) if off.numel() else 0.0
    return float("inf")


def _negligible(value: torch.Tensor) -> float:
    if not value.is_floating_point() or not value.numel():
        return 0.0
    finite = value[value.isfinite()].double().abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    return _NEGLIGIBLE * any_torch.finfo(value.dtype).eps * scale
