"""Indices of elements, of which several are as good where the elements are equal.

An operator that sorts, or looks for the largest, may return any of these, and another
implementation of it returns others.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import ReplayedGraph
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.runtime.passes.graph_state import Row, is_node

__all__ = ["Choice", "choice_of", "is_as_good"]

any_torch: Any = torch

_DIMENSIONS = {
    "argmax": 1,
    "argmin": 1,
    "argsort": 1,
    "cummax": 1,
    "cummin": 1,
    "kthvalue": 2,
    "max": 1,
    "median": 1,
    "min": 1,
    "mode": 1,
    "nanmedian": 1,
    "sort": 1,
    "topk": 2,
}
"""Which argument is the dimension, by the name of the operator."""
_OF_THEIR_OWN = ("argmax", "argmin", "argsort")
"""Those that return nothing but indices; the others return the elements before them."""
_DIFFERENT = ("argsort", "sort", "topk")
"""Those that return each element once."""


class Choice(NamedTuple):
    """Indices that an operator returns."""

    row: Row
    """The node of the operator."""
    operator: str


def choice_of(graph: ReplayedGraph, name: str, at: int = 0) -> Choice | None:
    """The operator that returned this value, or this part of it, where these are indices
    of which others may be right as well.
    """
    row = graph.by_name[name]
    if row.target is operator.getitem and is_node(row.args[0]):
        row, at = graph.by_name[graph.name_of(row.args[0])], row.args[1]
    called = row.target if isinstance(row.target, str) else _name_of(row.target)
    if called not in _DIMENSIONS or at != (called not in _OF_THEIR_OWN):
        return None
    is_stable = row.kwargs.get("stable", False)
    return None if is_stable else Choice(row, called)


def is_as_good(segments: Segments, choice: Choice, actual: torch.Tensor) -> bool:
    """Whether other indices point to the same elements."""
    row = choice.row
    given = row.kwargs.get("input", row.args[0] if row.args else None)
    if not is_node(given):
        return False
    name = segments.graph.name_of(given)

    def chosen() -> bool:
        elements = segments.value(name, Mode.OWN)
        own = segments.value(row.name, Mode.OWN)
        own = own if choice.operator in _OF_THEIR_OWN else own[1]
        return _points_to_same(row, choice.operator, elements, own, actual)

    found = attempt(chosen)
    return not isinstance(found, Raised) and found


def _name_of(target: Any) -> str:
    name = getattr(target, "__name__", "")
    return name.partition(".")[0]  # of an operator of torch.ops with its overload


def _points_to_same(
    row: Row,
    called: str,
    elements: torch.Tensor,
    own: torch.Tensor,
    actual: torch.Tensor,
) -> bool:
    at = _DIMENSIONS[called]
    default = None if called in ("argmax", "argmin") else -1
    dim = row.kwargs.get("dim", row.args[at] if len(row.args) > at else default)
    if dim is None:
        elements, dim = elements.reshape(-1), 0
    own, actual = own.to(elements.device), actual.to(elements.device)
    if own.dim() < elements.dim():
        own, actual = own.unsqueeze(dim), actual.unsqueeze(dim)
    size = elements.shape[dim]
    if bool((actual < 0).any()) or bool((actual >= size).any()):
        return False
    if called in _DIFFERENT:
        alone = actual.sort(dim).values.diff(dim=dim)
        if not bool(alone.all()):
            return False
    one, other = elements.gather(dim, own), elements.gather(dim, actual)
    return any_torch.equal(one.isnan(), other.isnan()) and has_numbers_of(one, other)
