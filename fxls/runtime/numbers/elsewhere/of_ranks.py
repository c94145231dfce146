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
_SHARD = "it differs, and a collective operation is given what is computed of it, as of a shard"


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
        both = _Both(one, other)
        found = next(both.differences(), None)
        for why, nodes in both.left_out.items():
            more = f" and {len(nodes) - 4} more" if len(nodes) > 4 else ""
            alone.append(f"{', '.join(nodes[:4])}{more}, in {name}: {why}")
        if found is not None:
            differences.append(found)
    alone += [f"{', '.join(key[::-1])}: only {second} has it" for key in graphs]
    return OfRanks(tuple(differences), count, values, tuple(alone))


class _Both:
    """The same graph in two ranks."""

    def __init__(self, one: KeptGraph, other: KeptGraph) -> None:
        self._one, self._other = one, other
        self._reads = {
            name: {word for word in _WORD.findall(text) if word in one.nodes} - {name}
            for name, text in one.nodes.items()
        }
        self._given_away = self._given_to_others()
        self._differ: set[str] = set()
        """What has another value, or none that is known."""
        self.left_out: dict[str, list[str]] = {}
        """By the reason, the nodes of which nothing is said."""
        for name in one.nodes:
            if name not in one.values or name not in other.values:
                self._leave_out(name, self._why_unknown(name))

    def differences(self) -> Iterator[RankDifference]:
        """What should be the same and is not, in the order of the graph."""
        one, other = self._one, self._other
        for name, text in one.nodes.items():
            place = one.places.get(name, "")
            of = (one.compilation, one.stage, name, _target(text), place)
            if self._is_of_other_groups(name):
                self._differ.add(name)
                continue
            if other.nodes.get(name) != text:
                why = "it is another node there, so the ranks run other code"
                yield RankDifference(*of, why)
                return
            if name not in one.values or name not in other.values:
                continue
            sides = _sides(one.values[name], other.values[name])
            if not sides:
                continue
            why = self._why(name, text)
            self._differ.add(name)
            if why and name not in {*one.random, *other.random}:
                yield RankDifference(*of, why, sides)

    def _why(self, name: str, text: str) -> str:
        """Why a value should be the same in both; empty where it need not."""
        if text.startswith("placeholder "):
            if not _HELD.match(name):
                return ""
            if name not in self._given_away:
                return _SAME_MODEL
            self._leave_out(name, _SHARD)
            return ""
        if name in self._one.groups or _COLLECTIVE.search(_target(text)):
            is_same = _COLLECTIVE.search(_target(text)) is not None
            return "all ranks of a group get the same" if is_same else ""
        reads = self._reads[name]
        return "" if reads & self._differ else "all that it reads is the same in both"

    def _is_of_other_groups(self, name: str) -> bool:
        """Whether nobody knows of a collective operation that both ranks take part in it;
        it is left out then.
        """
        groups = [one.groups.get(name) for one in (self._one, self._other)]
        texts = [_target(one.nodes.get(name, "  ")) for one in (self._one, self._other)]
        if None in groups or texts[0] != texts[1]:
            return False
        if groups[0] != groups[1]:
            self._leave_out(name, "each rank takes part in it with others")
        return groups[0] != groups[1] or not groups[0]

    def _why_unknown(self, name: str) -> str:
        if not self._one.groups.get(name, True):
            return "its process group was gone when the program ended"
        return "its value is not in both files"

    def _leave_out(self, name: str, why: str) -> None:
        self._differ.add(name)
        nodes = self.left_out.setdefault(why, [])
        if name not in nodes:
            nodes.append(name)

    def _given_to_others(self) -> set[str]:
        """What a collective operation is given, and what that is computed of."""
        found: set[str] = set()
        waiting = [name for name in self._one.nodes if name in self._one.groups]
        while waiting:
            new = self._reads[waiting.pop()] - found
            found |= new
            waiting += new
        return found


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
