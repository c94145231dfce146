"""Compares the captured graphs of a program with the values that they had elsewhere.

Each node is run here on the values that it was really given there, so a difference is
that of the node, and of none that it was passed on to. Whose value is wrong, float64
tells.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fxls.attempt import attempting
from fxls.runtime.faults import saying
from fxls.runtime.numbers.blame import where
from fxls.runtime.numbers.elsewhere.keeping_values import (
    environment,
    node_text,
    run_of,
    whole_graph,
)
from fxls.runtime.numbers.elsewhere.values_file import KeptGraph, Unreadable, read
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.judging.precision import LENIENT, Judged, Verdict, judged
from fxls.runtime.numbers.judging.whole import wrong_output
from fxls.runtime.numbers.kept import Copies, KeptCall, KeptCompilation
from fxls.runtime.numbers.random_nodes import is_random, is_seed
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import fx
from fxls.verdicts.agreement import (
    SCHEMA,
    Agreement,
    Difference,
    OtherInput,
    Side,
)
from fxls.verdicts.comparison import Evidence, Unseen

__all__ = ["agreement"]

any_torch: Any = torch

_UNTOLD = "float64 and its own precision do not tell"
_UNWRITTEN = re.compile(
    r"(?:new_)?empty(?:_like|_(?:new_)?strided|_permuted)?(?:\.\w+)?"
)
"""The names of what gives memory that nobody has written to."""


def agreement(
    compilations: Iterable[KeptCompilation],
    copies: Copies,
    path: Path,
    raised: str | None,
) -> Agreement:
    """How each captured graph agrees with what `keep` wrote of it."""
    compilations = [*compilations]
    here = environment(compilations)
    try:
        kept = read(path, copies.most_bytes)
    except Unreadable as why:
        return Agreement(*(SCHEMA, here, None, 0, 0), raised=raised, refused=str(why))
    there = {(one.compilation, one.stage): one for one in kept.graphs}
    done = _Done()
    for one in compilations:
        done.compare(one, there.pop((one.name, one.stage), None), copies.left)
    for graph in there.values():
        done.leave_out(graph.compilation, graph.stage, "the program has it there alone")
    return Agreement(
        *(SCHEMA, here, kept.environment, done.graphs, done.values),
        *(tuple(done.differences), tuple(done.inputs), tuple(done.unseen), raised),
    )


@dataclass(slots=True)
class _Done:
    """What was compared until now."""

    graphs: int = 0
    values: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    inputs: list[OtherInput] = field(default_factory=list[OtherInput])
    unseen: list[Unseen] = field(default_factory=list[Unseen])

    def leave_out(
        self, compilation: str, stage: str, why: str, what: str = "the graph"
    ) -> None:
        """Note what nobody looked at."""
        self.unseen.append(Unseen(compilation, stage, what, why))

    def compare(
        self, kept: KeptCompilation, other: KeptGraph | None, left: int
    ) -> None:
        """Compare one graph; what keeps it from being compared is said."""

        def failed(error: Exception) -> None:
            if not isinstance(error, NotRun):
                saying(f"{kept.stage} is not compared with what was kept")(error)
            self.leave_out(kept.name, kept.stage, str(error) or type(error).__name__)

        with attempting(failed), kept.defaults.in_force():
            graph = whole_graph(kept, left)
            if other is None:
                raise NotRun("the program has it here alone")
            judging = _Judging(kept, graph, other)
            judging.judge()
            self.graphs += judging.count > 0
            self.values += judging.count
            self.differences += judging.differences
            self.inputs += judging.inputs
            for why, nodes in judging.open.items():
                more = f" and {len(nodes) - 4} more" if len(nodes) > 4 else ""
                shown = ", ".join(nodes[:4]) + more
                self.leave_out(kept.name, kept.stage, why, shown)


class _Judging:
    """Compares the nodes of one graph."""

    def __init__(
        self, kept: KeptCompilation, graph: ReplayedGraph, other: KeptGraph
    ) -> None:
        self._kept = kept
        self._graph = graph
        self._other = other
        self._names = _same_nodes(graph, other)
        self._run = run_of(kept, graph)
        placed = kept.call.values if self._run is None else self._run.values
        self._there = {
            name: _placed(other.values[there], placed.get(name))
            for name, there in self._names.items()
            if there in other.values
        }
        given = {one: self._there[one] for one in graph.inputs if one in self._there}
        self._segments = Segments(graph, given)
        self.count = 0
        """How many values agree or differ."""
        self.differences: list[Difference] = []
        self.inputs: list[OtherInput] = []
        self.open: dict[str, list[str]] = {}

    def judge(self) -> None:
        """Look at each node in the order of the graph; where it changes values in place,
        at what it returns alone. Raises `NotRun`.
        """
        for name in self._graph.inputs:
            self._look_at_input(name)
        run = self._run
        if self._other.is_in_place or run is None:
            self._judge_outputs()
            return
        random = {
            name
            for name, there in self._names.items()
            if name in run.random or there in self._other.random
        }
        for row in self._graph.rows:
            name = row.name
            if row.opcode == "placeholder":
                continue
            if name not in self._there:
                self._note_open(self._why_unknown(name), name)
            elif is_random(row) or name in random or is_seed(self._graph, name):
                self._note_open("it draws random numbers", name)
            elif _UNWRITTEN.fullmatch(getattr(row.target, "__name__", str(row.target))):
                self._note_open("nobody wrote its elements", name)
            else:
                self._judge(row)
            if name in self._there:
                self._segments.known[name] = self._there[name]

    def _look_at_input(self, name: str) -> None:
        """Note how far an input is from what it was; what is no tensor is in the code."""
        here = self._kept.call.values.get(name)
        if name not in self._there:
            self._note_open(self._why_unknown(name), name)
        elif (off := _distance(self._there[name], here)) > 0:
            of = (self._kept.name, self._kept.stage)
            self.inputs.append(OtherInput(*of, name, off))

    def _why_unknown(self, name: str) -> str:
        return (
            "its value there is no tensor, number or list of these"
            if name in self._names
            else "it is another node there"
        )

    def _judge_outputs(self) -> None:
        """Judge what the graph returned there, of the inputs that it had, as a whole."""
        graph, there = self._graph, self._there
        if missing := [name for name in graph.inputs if name not in there]:
            raise NotRun(f"nobody has the value of {missing[0]} there")
        outputs = tuple(there.get(str(one)) for one in graph.outputs)
        found = wrong_output(graph, KeptCall(graph.inputs, Values(there), outputs))
        self.count += sum(isinstance(one, torch.Tensor) for one in outputs)
        names = {*map(str, graph.outputs), *graph.inputs}
        for row in graph.rows:
            if row.name not in names:
                self._note_open("the graph changes values in place", row.name)
        if found is not None:
            self._note(found.name, Side.THERE, found.evidence)

    def _note(self, name: str, side: Side | None, evidence: Evidence) -> None:
        place = where(self._graph, name)
        of = (self._kept.name, self._kept.stage)
        self.differences.append(Difference(*of, place, side, evidence))

    def _judge(self, row: Row) -> None:
        name = row.name
        try:
            region = self._segments.region([name])
            if any(one.name not in self._names for one in region):
                raise NotRun("it reads what another node computes there")
            own = leaves(self._segments.value(name, Mode.OWN))
        except NotRun as why:
            self._note_open(str(why), name)
            return
        theirs = leaves(self._there[name])
        if len(own) != len(theirs):
            self._note_open("it has another number of values there", name)
            return
        for at, (here, there) in enumerate(zip(own, theirs, strict=True)):
            try:
                found = self._compared(name, at, here, there)
            except NotRun as why:
                self._note_open(str(why), name)
                return
            if found is not None:
                self.count += 1
                self._note(name, *found)
                return
        self.count += 1

    def _compared(
        self, name: str, at: int, here: Any, there: Any
    ) -> tuple[Side | None, Evidence] | None:
        """Whose value is wrong, and how far; None where they agree.

        Raises `NotRun` where nobody can say.
        """
        if not isinstance(here, torch.Tensor) or not isinstance(there, torch.Tensor):
            if isinstance(here, torch.Tensor | None) or here != there:
                raise NotRun(f"it is {_brief(here)} here and {_brief(there)} there")
            return None
        if (here.shape, here.dtype) != (there.shape, there.dtype):
            return None, _other_form(here, there)

        def leaf(mode: Mode) -> torch.Tensor | None:
            found = leaves(self._segments.value(name, mode))
            return found[at] if at < len(found) else None

        def ask(one: torch.Tensor, other: torch.Tensor) -> Judged:
            def moved() -> torch.Tensor | None:
                found = leaf(Mode.MOVED)
                if found is None or found.shape != here.shape or other is here:
                    return found
                # It is moved here; the other value would move as far.
                return other + (found - here)

            return judged(one, other, moved, lambda: leaf(Mode.EXACT), LENIENT)

        for side, one, other in (
            (Side.THERE, there, here),
            (Side.HERE, here, there),
        ):
            found = ask(one, other)
            if found.verdict is Verdict.OPEN:
                raise NotRun(_UNTOLD)
            if found.verdict is Verdict.WRONG and found.evidence is not None:
                return side, found.evidence
        return None

    def _note_open(self, why: str, name: str) -> None:
        names = self.open.setdefault(why, [])
        if name not in names:
            names.append(name)


def _same_nodes(graph: ReplayedGraph, other: KeptGraph) -> Mapping[str, str]:
    """By the name of a node here, that of the node there that is the same.

    Behind one that is another, or that is missing, names count on in another way; so a
    node is known by its target, and by what its arguments are called there.
    """
    named: dict[str, deque[str]] = {}
    for name, text in other.nodes.items():
        named.setdefault(text, deque()).append(name)
    found: dict[str, str] = {}
    for row in graph.rows:
        names = named.get(node_text(graph, row, lambda name: found.get(name, name)))
        if names:
            found[row.name] = names.popleft()
    return found


def _placed(there: Any, here: Any) -> Any:
    """A value of another place on the device that it has here."""
    devices = [one.device for one in leaves(here) if isinstance(one, torch.Tensor)]

    def placed(one: Any) -> Any:
        return one.to(devices[0]) if isinstance(one, torch.Tensor) else one

    return fx.node.map_aggregate(there, placed) if devices else there


def _distance(there: Any, here: Any) -> float:
    """How far an input is from what it was; what cannot be subtracted is far away."""
    if not isinstance(there, torch.Tensor) or not isinstance(here, torch.Tensor):
        return 0.0 if there == here else float("inf")
    if there.shape != here.shape or there.dtype != here.dtype:
        return float("inf")
    if any_torch.equal(there, here) or not here.numel():
        return 0.0
    wide = torch.complex128 if here.is_complex() else torch.float64
    off = (there.to(wide) - here.to(wide)).abs()
    return float(any_torch.nan_to_num(off, nan=0.0).max())


def _other_form(here: torch.Tensor, there: torch.Tensor) -> Evidence:
    """That two values cannot be compared, because they have another form."""
    reason = f"it is {_brief(here)} here and {_brief(there)} there"
    dtype = str(here.dtype).removeprefix("torch.")
    return Evidence(dtype, tuple(here.shape), float("inf"), 0.0, 0.0, 0.0, reason)


def _brief(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return str(value)[:40]
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
