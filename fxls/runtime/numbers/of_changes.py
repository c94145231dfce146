"""Compares a graph that somebody changed with what it was before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fxls.runtime.numbers.blame import MOST_NAMED, changed_nodes, where
from fxls.runtime.numbers.gradient_names import (
    computing,
    expression_of,
    gradients_among,
)
from fxls.runtime.numbers.graphs import ReplayedGraph
from fxls.runtime.numbers.inputs import inputs_of, inputs_of_part
from fxls.runtime.numbers.judging.claims import Claims, changed
from fxls.runtime.numbers.judging.confirming import confirmed
from fxls.runtime.numbers.judging.drawing import (
    HOW,
    is_drawn_otherwise,
    no_longer_random,
)
from fxls.runtime.numbers.judging.gradients import wrong_gradient
from fxls.runtime.numbers.judging.in_place import changed_names, wrong_in_place
from fxls.runtime.numbers.judging.raising import broken_when_run
from fxls.runtime.numbers.judging.saving import exchanged, wrongly_saved
from fxls.runtime.numbers.kept import (
    Change,
)
from fxls.runtime.numbers.of_kernels import OfKernels
from fxls.runtime.numbers.replaying import ChangesInPlace
from fxls.runtime.numbers.scripts.gradient_scripts import of_gradients
from fxls.runtime.numbers.scripts.in_place_scripts import of_change_in_place
from fxls.runtime.numbers.scripts.partition_scripts import of_saved
from fxls.runtime.numbers.scripts.reproducing import (
    BACKENDS,
    Compiling,
    of_change,
)
from fxls.runtime.numbers.total import no_script
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.passes.partition import PARTITION
from fxls.verdicts.comparison import (
    Fault,
    Kind,
)

__all__ = ["GRADIENTS", "OfChanges"]

GRADIENTS = ": gradients"
"""What stands behind the name of a step of which the gradients alone are compared."""


class OfChanges(OfKernels):
    """Compares what passes and backends made of graphs."""

    def compare_pass(self, one: Change) -> None:
        told = one.told
        stage = one.step.capture.stage
        inputs = inputs_of_part(self.kept, one) if told.subgraph else None
        kind = Kind.PARTITION if told.name == PARTITION else Kind.PASS
        name = (told.name, told.ordinal, stage)
        self.compare_graphs(kind, name, one.before, one.after, inputs)

    def compare_graphs(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        before: GraphState,
        after: GraphState,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        old, new = ReplayedGraph(before), ReplayedGraph(after)
        if inputs is None:
            inputs = inputs_of(self.kept, new)
        try:
            found = changed(old, new, inputs, is_half=kind is Kind.PARTITION)
        except ChangesInPlace:
            if kind is Kind.PARTITION:
                raise
            self._compare_in_place(kind, name, old, new, inputs)
            return
        self.total.passes += 1
        if kind is Kind.PARTITION and "backward" in name[2]:
            self._judge_saved(name, old, new)
        broken = broken_when_run(kind, name, (old, after), found.after, inputs)
        if broken is not None:
            self.note_crash(broken)
            return
        self.note_open(name, found.claims.open)
        values = found.claims.values
        if self._judge_random(kind, name, (old, new), inputs, found.claims):
            return
        if not found.claims.wrong:
            self.note_values(name[0], name[2], values, (), after)
            altered = {node for _, node in changed_names(old, new)}
            if new.is_captured and altered & found.claims.open.keys():
                self.missed.append((name[2], name[0]))
            self._compare_gradients_of(kind, name, old, new, inputs)
            return
        known = found.claims.segments.known
        wrong = found.claims.wrong
        first, how, otherwise = confirmed(old, inputs, found)
        nodes = changed_nodes(old, new, first, known)
        known_wrong = [first.new_name] if how else []
        known_wrong += [node for graph, node, *_ in nodes if how and graph is new]
        if how:
            values = {**dict.fromkeys(known_wrong, first.evidence), **values}
        of_others = {one.new_name for one in wrong}.difference(known_wrong)
        values = {node: one for node, one in values.items() if node not in of_others}
        self.note_values(name[0], name[2], values, known_wrong, after)
        self.note_fault(
            kind,
            name,
            first.evidence,
            [where(*one) for one in nodes],
            how,
            lambda: of_change(
                name[0], (old, new), known, first, self._compiling_of(kind, name[0])
            ),
            gradients=gradients_among(otherwise, before, self.kept.captured),
        )

    def _judge_random(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        graphs: tuple[ReplayedGraph, ReplayedGraph],
        inputs: Mapping[str, Any],
        claims: Claims,
    ) -> bool:
        """Judge what is random in the graph before; whether it is not any more."""
        if claims.wrong or kind is Kind.PARTITION:
            return False
        old, new = graphs
        fixed = no_longer_random(old, new, inputs, claims)
        if fixed is None:
            if is_drawn_otherwise(old, new, claims):
                self.missed.append((name[2], name[0]))
            return False
        nodes = changed_nodes(old, new, fixed, claims.segments.known)
        places = [where(*one) for one in nodes]
        scripts = no_script("it is about random numbers")
        self.note_fault(kind, name, fixed.evidence, places, HOW, scripts)
        return True

    def _compare_in_place(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        old: ReplayedGraph,
        new: ReplayedGraph,
        inputs: Mapping[str, Any],
    ) -> None:
        """Judge a change of a graph of which no node can be run by itself."""
        found = wrong_in_place(old, new, inputs)
        self.total.passes += 1
        if found is None:
            self._compare_gradients_of(kind, name, old, new, inputs)
            return
        self.note_fault(
            kind,
            name,
            found.evidence,
            [
                where(graph, node, (new, old))
                for graph, node in found.nodes[:MOST_NAMED]
            ],
            found.confirmed,
            lambda: of_change_in_place(name[0], (old, new), inputs),
        )

    def _compare_gradients_of(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        old: ReplayedGraph,
        new: ReplayedGraph,
        inputs: Mapping[str, Any],
    ) -> None:
        if kind is Kind.BACKEND or name[2].endswith("pre-grad"):
            what = name[0] + GRADIENTS
            both = (old, new)
            self.guarded(
                name[2], what, self._compare_gradients, kind, name, both, inputs
            )

    def _compare_gradients(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        graphs: tuple[ReplayedGraph, ReplayedGraph],
        inputs: Mapping[str, Any],
    ) -> None:
        """Judge what a change before AOTAutograd makes of gradients alone."""
        old, new = graphs
        self.judged -= 1  # it is a part of a step
        if not self.kept.call.has_backward:
            return
        found = wrong_gradient(old, new, inputs)
        if found is None:
            return
        named = found.through[:MOST_NAMED]
        readers = [row.name for row in old.rows if found.of in old.uses(row)]
        read = (readers or [""])[0]
        self.note_fault(
            kind,
            name,
            found.evidence,
            [where(graph, node, (new, old), read) for graph, node in named],
            "each value is right, and of the same gradients of what it returns the graph"
            " before computes another one",
            lambda: of_gradients(name[0], graphs, inputs),
            gradient_of=expression_of(old.by_name[found.of]),
            gradients=[expression_of(old.by_name[one]) for one in found.inputs],
            computed_by=computing(self.kept.traced, (node for _, node in named)),
        )

    def _judge_saved(
        self, name: tuple[str, int, str], joint: ReplayedGraph, half: ReplayedGraph
    ) -> None:
        found = wrongly_saved(joint, half, self.kept.calls)
        forward = [
            one.after
            for one in self.kept.changes
            if one.told.name == PARTITION and "forward" in one.step.capture.stage
        ]
        halves = (ReplayedGraph(forward[0]), half) if forward else None
        if found is None and halves is not None:
            found = exchanged(joint, halves, self.kept.calls)
        if found is None:
            return
        places = [where(half, node, (half, joint)) for node in found.users]
        self.total.take(
            Fault(
                *(Kind.PARTITION, self.kept.name, name[2], name[0], name[1]),
                self.called(places),
                found.evidence,
                found.confirmed,
                overwritten=found.name,
            ),
            no_script("nobody saw the forward")
            if halves is None
            else lambda: of_saved(joint, halves, self.kept.calls),
        )

    # -- scripts -------------------------------------------------------------------

    def compiling(self) -> Compiling:
        """How scripts compile that are to compile as the program does."""
        kept = self.kept
        settings = [one.settings for one in kept.lowered]
        backend = kept.backend if kept.backend in BACKENDS else "inductor"
        return Compiling(backend, settings[0] if settings else {})

    def _compiling_of(self, kind: Kind, name: str) -> Compiling | None:
        """The same for a pass; None where it is one of the program's own."""
        is_own = kind is not Kind.PASS or "custom" in name
        return None if is_own else self.compiling()
