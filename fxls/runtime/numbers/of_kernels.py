"""Compares the code of the graphs of a compilation with these graphs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fxls.runtime.numbers.blame import crashed, where
from fxls.runtime.numbers.gradient_names import gradients_among
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.judging.claims import Suspicion
from fxls.runtime.numbers.judging.confirming import confirmed, is_explained
from fxls.runtime.numbers.judging.kernels import Judgement, judge_kernels, narrowed
from fxls.runtime.numbers.judging.precision import ALL_TOGETHER
from fxls.runtime.numbers.kept import Crash, KeptCompilation, Lowered
from fxls.runtime.numbers.notes import Notes
from fxls.runtime.numbers.replaying import replayed
from fxls.runtime.numbers.scripts.crash_scripts import of_crash, of_raising_code
from fxls.runtime.numbers.scripts.reproducing import (
    MOST_COMPILATIONS,
    Compiling,
    of_kernel,
)
from fxls.runtime.numbers.total import Scripts
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import is_view
from fxls.verdicts.comparison import Kind

__all__ = ["OfKernels", "stage_of"]


class OfKernels(Notes):
    """Compares compiled code with the graphs that it was made of."""

    def compare_kernels(self, lowered: Lowered) -> None:
        stage = stage_of(self.kept, lowered)
        if lowered.why_not or lowered.state is None or lowered.run is None:
            raise NotRun(lowered.why_not or "inductor took its code from a cache")
        if lowered.call.why_not:
            raise NotRun(lowered.call.why_not)
        graph = ReplayedGraph(lowered.state)
        inputs = lowered.call.values
        if lowered.call.raised:
            self._compare_raised(graph, lowered, stage)
            return
        found = judge_kernels(lowered, graph, inputs)
        claims = found.claims
        self.total.kernels += claims.judged
        self.note_open(("kernels", 1, stage), claims.open)
        if not claims.wrong:
            self.note_values("kernels", stage, claims.values, ())
            return
        first, how, otherwise = confirmed(graph, inputs, found)
        gradients = gradients_among(otherwise, lowered.state, self.kept.captured)
        self._blame_kernel(lowered, graph, found, first, how, gradients)

    def _blame_kernel(
        self,
        lowered: Lowered,
        graph: ReplayedGraph,
        found: Judgement,
        first: Suspicion,
        how: str | None,
        gradients: Sequence[str],
    ) -> None:
        stage = stage_of(self.kept, lowered)
        computing = [one.name for one in first.region if _computes(one)]
        evidence = first.evidence
        again = self._computed_again(graph, found, first) if how else None
        if how and len(computing) > 1 and again is not None:
            computing = [again.name]
            how += (
                "; it computes again what the forward does, with the same wrong value"
            )
        elif len(computing) > 1 and how and not self.total.more_compilations:
            self.total.more_compilations += 1
            settings = lowered.settings
            one = narrowed(graph, found.claims.segments.known, first, settings)
            if one is not None:
                computing, evidence = [one.name], one.evidence
                self.wrong_nodes.append(one)
                how += "; compiled once more with its value kept, this node is wrong"
        if computing == [first.name]:
            self.wrong_nodes.append(first)
        of_others = {one.new_name for one in found.claims.wrong} - {first.new_name}
        values = {
            node: one
            for node, one in found.claims.values.items()
            if node not in of_others and (how or node != first.new_name)
        }
        known_wrong = [first.new_name] if how else []
        if how and len(computing) == 1:
            # The value that was seen is off because of this one, and its node is right.
            known_wrong = computing
            values.setdefault(computing[0], evidence)
        self.note_values("kernels", stage, values, known_wrong)
        name = (found.kernels.get(first.name, "an output"), 1, stage)
        places = [where(graph, node) for node in computing or [first.name]]
        node = computing[0] if len(computing) == 1 else None
        compiling = Compiling(
            "inductor",
            lowered.settings,
            MOST_COMPILATIONS - self.total.more_compilations,
            evidence.reason == ALL_TOGETHER,
        )
        self.note_fault(
            Kind.KERNEL,
            name,
            evidence,
            places,
            how,
            lambda: of_kernel(
                graph, found.claims.segments.known, first, node, compiling
            ),
            gradients=gradients,
        )

    def _computed_again(
        self, graph: ReplayedGraph, found: Judgement, wrong: Suspicion
    ) -> Suspicion | None:
        """The node that is wrong in other code of the same compilation, if this code has it
        too and that explains the value: partitioning lets nodes keep their names.
        """
        names = {one.name for one in wrong.region}
        known = found.claims.segments.known
        return next(
            (
                one
                for one in self.wrong_nodes
                if one.name in names and is_explained(graph, known, wrong, one)
            ),
            None,
        )

    def _compare_raised(
        self, graph: ReplayedGraph, lowered: Lowered, stage: str
    ) -> None:
        """Judge code that raised by the graph that it was made of."""
        call = lowered.call
        run = replayed(graph, call.values)
        if run.failed:
            node, why = next(iter(run.failed.items()))
            raise NotRun(f"it raises, as {node} of the graph before does: {why}")
        crash = Crash(
            *(Kind.KERNEL, stage, "", 1, call.raised), settings=lowered.settings
        )
        self.note_crash(crash, lambda: of_raising_code(graph, run.values, crash))

    def note_crash(self, crash: Crash, scripts: Scripts | None = None) -> None:
        """Note what raised, though nothing before it did."""
        scripts = scripts or (lambda: of_crash(self.kept, crash))
        fault = crashed(self.kept.name, crash)
        fault = msgspec.structs.replace(fault, where=self.called(fault.where))
        self.total.take(fault, scripts)


def stage_of(kept: KeptCompilation, lowered: Lowered) -> str:
    """The graph that code was made of, as `fxls list` names it."""
    half = "backward" if lowered.is_backward else "forward"
    return f"{kept.stage}, {half}, post-grad"


def _computes(row: Row) -> bool:
    """Whether a node is more than a view, or a part, of what it is given."""
    is_part = getattr(row.target, "__name__", "") == "getitem"
    return not is_part and not is_view(row.target)
