"""Judges what AOTAutograd traced by the captured graph that it traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import torch

from fxls.runtime.numbers.graphs import ReplayedGraph, doubled, is_plain
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.replaying import seen_in
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import is_view
from fxls.verdicts.comparison import Evidence

__all__ = ["WrongTrace", "wrong_trace"]


@dataclass(frozen=True, slots=True)
class WrongTrace:
    """The nodes that were traced of one captured node, and give something else."""

    names: Sequence[str]
    evidence: Evidence


def wrong_trace(
    captured: ReplayedGraph,
    call: KeptCall,
    traced: ReplayedGraph,
    values: Mapping[str, Any],
) -> WrongTrace | None:
    """The first captured node of which something else was traced, with the values of the
    traced nodes; None where it draws random numbers, or no node says it.

    A node counts whose own inputs have values that both graphs give.
    """
    given, is_random = seen_in(captured, call.values, call.randomness)
    if is_random:
        return None
    made: dict[str, list[Row]] = {}
    for row in traced.rows:
        if name := _traced_of(row):
            made.setdefault(name, []).append(row)
    right = {*captured.inputs}
    for row in captured.rows:
        rows, own = made.get(row.name, []), cast("Any", given.get(row.name))
        value = _last_like(own, rows, values) if is_plain(own) else None
        if value is None:
            continue
        found = judged(value, own, lambda: None, lambda own=own: doubled(own), LENIENT)
        if found.verdict is Verdict.RIGHT:
            right.add(row.name)
        elif found.evidence is not None and right.issuperset(captured.uses(row)):
            beside = "the captured graph"
            evidence = msgspec.structs.replace(found.evidence, beside=beside)
            computing = [one for one in rows if not is_view(one.target)] or rows
            return WrongTrace([one.name for one in computing], evidence)
    return None


def _traced_of(row: Row) -> str:
    """The captured node that a node of a forward was traced of; empty where torch does
    not say.
    """
    sources = row.node.meta.get("from_node")
    if not isinstance(sources, list | tuple) or not sources:
        return ""
    name = getattr(cast("Sequence[object]", sources)[0], "name", "")
    return name if isinstance(name, str) else ""


def _last_like(
    own: torch.Tensor, rows: Sequence[Row], values: Mapping[str, Any]
) -> torch.Tensor | None:
    """The value of the last of these nodes that has the form of this one."""
    for row in reversed(rows):
        value: Any = values.get(row.name)
        if is_plain(value) and (value.shape, value.dtype) == (own.shape, own.dtype):
            return value
    return None
