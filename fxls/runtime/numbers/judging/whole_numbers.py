"""Numbers that no rounding decides: those of Python, as sizes are, and whole numbers that
are computed of whole numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from fxls.runtime.numbers.graphs import ReplayedGraph, leaves
from fxls.runtime.numbers.judging.precision import Judged, Verdict
from fxls.runtime.passes.graph_state import Row
from fxls.verdicts.comparison import Evidence

__all__ = ["is_number", "is_rounded", "judged_number"]

_ROUNDINGS = 1e-6
"""By so much of itself a floating number may be another one."""


def is_number(value: object) -> bool:
    """Whether it is a number of Python's, and no symbol."""
    return isinstance(value, bool | int | float)


def judged_number(actual: Any, own: Any) -> Judged:
    """Judge a number of Python's by what the graph before gives."""
    is_same = actual == own
    if isinstance(own, float) and isinstance(actual, float):
        is_same = math.isclose(actual, own, rel_tol=_ROUNDINGS)
        is_same = is_same or (math.isnan(own) and math.isnan(actual))
    if is_same:
        return Judged(Verdict.RIGHT)
    error = abs(float(actual) - float(own))
    error = error if math.isfinite(error) else math.inf
    reason = f"it is {actual}, and should be {own}"
    evidence = Evidence(
        type(own).__name__, (), error, 0.0, 0.0, abs(float(own)), reason
    )
    return Judged(Verdict.WRONG, evidence)


def is_rounded(graph: ReplayedGraph, rows: Iterable[Row]) -> bool:
    """Whether anything is rounded where these nodes are computed, as far as known."""
    for row in rows:
        read = [graph.by_name.get(name) for name in graph.uses(row)]
        for one in (row, *read):
            if one is None or _is_floating(_noted(one)):
                return True
        if any(isinstance(one, float) for one in leaves((row.args, row.kwargs))):
            return True
    return False


def _noted(row: Row) -> Any:
    return row.node.meta.get("val", row.node.meta.get("example_value"))


def _is_floating(noted: Any) -> bool:
    """Whether a value may have digits behind its point; of what is not noted it may."""
    for one in leaves(noted):
        if isinstance(one, torch.Tensor):
            if one.is_floating_point() or one.is_complex():
                return True
        elif not isinstance(one, bool | int | torch.SymInt | torch.SymBool):
            return True
    return False
