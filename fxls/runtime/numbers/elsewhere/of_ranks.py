"""Where two ranks of a launch have other values that should be the same.

Ranks may be given other inputs. What a model holds should be the same in both, and so
should what a collective operation gives, and what a node computes of values that are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from fxls.runtime.numbers.elsewhere.values_file import (
    KeptGraph,
    KeptValues,
    Unreadable,
    read,
)
from fxls.runtime.numbers.graphs import leaves
from fxls.verdicts.agreement import OfRanks, RankDifference

__all__ = ["between_ranks"]

any_torch: Any = torch

_WORD = re.compile(r"\w+")
_HELD = re.compile(r"l_self_|.*_(parameters|buffers|modules)_|(p|b)_")
"""The names of inputs that a model holds, as Dynamo gives them."""
_COLLECTIVE = re.compile(r"\b_?(all_reduce|all_gather\w*|broadcast)(_coalesced)?\b")
"""What gives the same to all ranks of a group."""
_SAME_MODEL = "the model holds it, in each rank the same unless it is sharded"


def between_ranks(first: Path, second: Path, most_bytes: int) -> OfRanks:
    """The first node of each graph that should be the same in both files, and is not."""
    kept: list[KeptValues] = []
    for path in (first, second):
        try:
            kept.append(read(path, most_bytes // 2))
        except Unreadable as why:
            return OfRanks(refused=f"{path}: {why}")
    graphs = {(one.compilation, one.stage): one for one in kept[1].graphs}
    differences: list[RankDifference] = []
    values = count = 0
    alone: list[str] = []
    for one in kept[0].graphs:
        name = f"{one.stage}, {one.compilation}"
        other = graphs.pop((one.compilation, one.stage), None)
        if other is None:
            alone.append(f"{name}: only {first} has it")
            continue
        count += 1
        values += sum(node in other.values for node in one.values)
        unknown = [
            node for node in one.nodes if not {node} <= one.values.keys() & other.values
        ]
        if unknown:
            more = f" and {len(unknown) - 4} more" if len(unknown) > 4 else ""
            said = ", ".join(unknown[:4]) + more
            alone.append(f"{said}, in {name}: its value is not in both files")
        found = next(_differences(one, other), None)
        if found is not None:
            differences.append(found)
    alone += [f"{', '.join(key[::-1])}: only {second} has it" for key in graphs]
    return OfRanks(tuple(differences), count, values, tuple(alone))


def _differences(one: KeptGraph, other: KeptGraph) -> Iterator[RankDifference]:
    """What should be the same and is not, in the order of the graph."""
    differ: set[str] = set()
    for name, text in one.nodes.items():
        of = (one.compilation, one.stage, name, _target(text), one.places.get(name, ""))
        if other.nodes.get(name) != text:
            why = "it is another node there, so the ranks run other code"
            yield RankDifference(*of, why)
            return
        if name not in one.values or name not in other.values:
            differ.add(name)
            continue
        sides = _sides(one.values[name], other.values[name])
        if not sides:
            continue
        why = _why(one, name, text, differ)
        differ.add(name)
        if why and name not in {*one.random, *other.random}:
            yield RankDifference(*of, why, sides)


def _why(graph: KeptGraph, name: str, text: str, differ: set[str]) -> str:
    """Why a value should be the same in both; empty where it need not."""
    if text.startswith("placeholder "):
        return _SAME_MODEL if _HELD.match(name) else ""
    if _COLLECTIVE.search(_target(text)):
        return "all ranks of a group get the same"
    reads = {word for word in _WORD.findall(text) if word in graph.nodes} - {name}
    return "" if reads & differ else "all that it reads is the same in both"


def _target(text: str) -> str:
    """What a node calls, of the text by which it is known."""
    return text.split(" ", 2)[1]


def _sides(one: Any, other: Any) -> str:
    """Where two values differ most, and what both are there; empty where they are equal."""
    pairs = [*zip(leaves(one), leaves(other), strict=False)]
    for first, second in pairs:
        if not isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor):
            if first != second:
                return f"{first} and {second}"
            continue
        if (first.shape, first.dtype) != (second.shape, second.dtype):
            return f"{_form(first)} and {_form(second)}"
        wide = torch.complex128 if first.is_complex() else torch.float64
        off = (first.to(wide) - second.to(wide)).abs()
        is_same = (first == second) | ((first != first) & (second != second))
        off = off.nan_to_num(nan=float("inf")).masked_fill(is_same, 0.0)
        if not off.numel() or not bool(off.any()):
            continue
        at = int(off.argmax())
        values = [flat.reshape(-1)[at].item() for flat in (first, second)]
        place = [int(axis) for axis in any_torch.unravel_index(off.argmax(), off.shape)]
        where = f" at {place}" if place else ""
        shown = " and ".join(
            f"{value:.6g}" if isinstance(value, float) else str(value)
            for value in values
        )
        return f"{shown}{where}, off by {float(off.max()):.3g}"
    return ""


def _form(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
