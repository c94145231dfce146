"""Compares the steps of each compilation that was kept, in the compiler's order."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence

from fxls.attempt import attempting
from fxls.runtime.numbers.blame import MOST_NAMED, where
from fxls.runtime.numbers.gradient_names import expression_of
from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph
from fxls.runtime.numbers.inputs import inputs_of, inputs_of_joint
from fxls.runtime.numbers.judgements import Judgements
from fxls.runtime.numbers.judging.decompositions import judge_decompositions
from fxls.runtime.numbers.judging.fakes import (
    GIVES_MEMORY,
    lies_of_memory,
    lies_of_writing,
    wrong_fakes,
)
from fxls.runtime.numbers.judging.findings import note_finding
from fxls.runtime.numbers.judging.raising import broken_by
from fxls.runtime.numbers.judging.traced_gradients import wrong_traced_gradient
from fxls.runtime.numbers.judging.tracing import wrong_trace
from fxls.runtime.numbers.judging.whole import WrongOutput, wrong_output
from fxls.runtime.numbers.kept import (
    Behind,
    Change,
    Copies,
    KeptCall,
    KeptCompilation,
)
from fxls.runtime.numbers.of_changes import GRADIENTS, OfChanges
from fxls.runtime.numbers.of_kernels import stage_of
from fxls.runtime.numbers.replaying import ChangesInPlace, replayed
from fxls.runtime.numbers.room import give_memory_back
from fxls.runtime.numbers.scripts.fake_scripts import of_fake
from fxls.runtime.numbers.scripts.reproducing import (
    of_decomposition,
    of_function,
)
from fxls.runtime.numbers.scripts.signature_scripts import of_signature
from fxls.runtime.numbers.total import Total, no_script
from fxls.runtime.passes.graph_state import is_same_graph
from fxls.verdicts.comparison import (
    SCHEMA,
    Comparison,
    Evidence,
    Kind,
)

__all__ = ["compared"]


def compared(
    kept: Iterable[KeptCompilation],
    copies: Copies,
    raised: str | None = None,
    *,
    is_reproducing: bool = False,
    judgements: Judgements | None = None,
) -> Comparison:
    """What is wrong in these compilations; `raised` is what the program ended with.

    With `is_reproducing` there are scripts for the first fault. How far each value is off
    is noted in `judgements`.
    """
    began = time.perf_counter()
    give_memory_back()
    total = Total(judgements, is_reproducing=is_reproducing)
    for one in kept:
        with one.defaults.in_force():
            of_first = _OfCompilation(one, copies, total)
            of_first.compare(has_raised=raised is not None)
            if not of_first.has_fault:
                _compare_later_calls(one, copies, total)
    return Comparison(
        SCHEMA,
        tuple(total.faults),
        tuple(dict.fromkeys(total.unseen)),
        total.graphs,
        total.passes,
        total.decompositions,
        total.kernels,
        total.more_compilations,
        total.unjudged,
        round(time.perf_counter() - began, 3),
        raised,
        tuple(total.reproducers),
        total.no_reproducer,
        tuple(total.findings),
    )


_CAPTURED = "what Dynamo captured"
_PYTHON = "the function was called once more, by Python alone and on the same values"


def _compare_later_calls(kept: KeptCompilation, copies: Copies, total: Total) -> None:
    """Compare the steps once more, with the first call that returned something wrong."""
    for count in sorted(kept.call.again):
        later = _OfCompilation(kept.of_call(count), copies, total)
        why = later.kept.call.why_not
        if why and not kept.call.why_not:
            later.leave_out(kept.stage, f"call {count} of the function", why)
        before = total.counts
        later.compare_with_python(count)
        if later.returns_something_wrong():
            later.compare(has_raised=False)
        elif not later.has_fault:
            continue
        total.say_of_call(count, before)
        return


class _OfCompilation(OfChanges):
    """Compares what is kept of one compilation."""

    def compare(self, *, has_raised: bool) -> None:
        """Look at each step in order."""
        kept = self.kept
        crash = kept.crash and (broken_by(kept) or kept.crash)
        if crash is not None:
            self.note_crash(crash)
        if kept.is_without_cuda_graph:
            why = "nothing runs in one while it is compared"
            self.leave_out(kept.stage, "the CUDA graph", why)
        if kept.call.happened:
            self.total.graphs += 1
            self.compare_with_python()
            if not self._has_wrong_fakes():
                self._compare_calls()
        elif kept.crash is None:
            why = "its compiled code was never called"
            if kept.is_in_cuda_graph:
                why = "all of its code is in a CUDA graph"
            self.leave_out(kept.stage, "the graph", why)
        if kept.found is not None and not self.has_fault:
            self.guarded(kept.stage, kept.found.value, note_finding, self, kept.found)
        if has_raised and not self.has_fault:
            # What raises while a backward is compiled, nobody saw.
            crash = broken_by(kept)
            if crash is not None:
                self.note_crash(crash)

    def compare_with_python(self, call: int = 1) -> None:
        """Judge the captured graph by what Python does in its place, if that was asked."""
        kept = self.kept
        asked = kept.call.python
        found = None if asked is None else asked.found()
        if found is None:
            return
        if found.evidence is not None:
            place = where(ReplayedGraph(kept.captured), found.node)
            scripts = no_script("no script has the Python that was captured")
            name = ("", 1, kept.stage)
            # Each of these stages may have a listing of it.
            for stage in (kept.stage, f"{kept.stage}, pre-grad"):
                values = {found.node: found.evidence}
                self.note_values("Dynamo", stage, values, [*values], kept.captured)
            self.note_fault(
                *(Kind.CAPTURE, name, found.evidence, [place], _PYTHON, scripts)
            )
        elif found.output:
            when = f"; in call {call} of its graph" if call > 1 else ""
            why = f"{found.output}{when}"
            self.leave_out(kept.stage, _CAPTURED, why, is_suspect=True)
        elif found.why_not and call == 1:
            self.leave_out(kept.stage, _CAPTURED, found.why_not)

    def returns_something_wrong(self) -> bool:
        """Whether the call returned what the captured graph does not."""
        if self.kept.call.outputs is None or self.kept.call.why_not:
            return False
        graph = ReplayedGraph(self.kept.captured)
        found = None
        with attempting(lambda _error: None):
            found = wrong_output(graph, self.kept.call)
        return found is not None

    def _compare_calls(self) -> None:
        kept = self.kept
        if kept.call.why_not:
            self.leave_out(kept.stage, "the captured graph", kept.call.why_not)
        for call in kept.calls:
            if call.happened and call.why_not:
                self.leave_out(kept.stage, "a compiled graph", call.why_not)
            elif not call.happened:
                stage = f"{kept.stage}, backward"
                self.leave_out(stage, "the graph", "the program never ran it")
        self._compare_backend()
        early = [
            one for one in kept.changes if one.step.capture.stage.endswith("pre-grad")
        ]
        late = [one for one in kept.changes if one not in early]
        back = [one for one in late if "backward" in one.step.capture.stage]
        for one in early:
            self.guarded(one.step.capture.stage, one.told.name, self.compare_pass, one)
        self.guarded(kept.traced_stage, "decompositions", self._compare_decompositions)
        self._compare_half([one for one in late if one not in back], is_backward=False)
        # What never ran made no number.
        if kept.call.has_backward or any(
            call.happened and call.is_backward for call in kept.calls
        ):
            self._compare_half(back, is_backward=True)
        missed, judged = [*self.missed], self.judged
        if not self.has_fault:
            self.guarded(kept.stage, "what the function returned", self._compare_whole)
        is_vouched = self.judged > judged and not self.has_fault
        is_unsure = any(not (is_vouched and self._is_of_outputs(*o)) for o in missed)
        self.guarded(kept.stage, "gradients", self._compare_ends)
        self._compare_traced_gradients()
        is_hidden = self._hides_gradients()
        if is_open := kept.traced is not None and not kept.calls:
            why = f"nobody sees what {kept.backend} compiles behind AOTAutograd called"
            self.leave_out(kept.traced_stage, "the code and its gradients", why)
        self.total.unjudged += is_hidden or is_open or is_unsure or not self.judged

    def _compare_half(self, changes: Sequence[Change], *, is_backward: bool) -> None:
        """Compare what is made of a forward or of a backward graph."""
        kept = self.kept
        for one in changes:
            stage = one.step.capture.stage
            self.guarded(stage, one.told.name, self.compare_pass, one)
        for behind in kept.behind:
            if behind.is_backward == is_backward and behind.call.happened:
                self._compare_behind(behind)
        for lowered in kept.lowered:
            if lowered.is_backward == is_backward and lowered.call.happened:
                stage = stage_of(kept, lowered)
                self.guarded(stage, "kernels", self.compare_kernels, lowered)

    def _is_of_outputs(self, stage: str, what: str) -> bool:
        """Whether a step can make nothing wrong but what the function returns."""
        is_late = "backward" in stage or stage.endswith("joint")
        is_gradients = is_late or what.endswith(GRADIENTS)
        return not is_gradients or not self.kept.call.has_backward

    def _compare_ends(self) -> None:
        """Judge whether gradients lead through what a backend returned."""
        kept = self.kept
        self.judged -= 1  # it is a part of a step
        if self.has_fault or kept.is_torchs or not kept.call.has_backward:
            return
        graph = ReplayedGraph(kept.captured)
        for at in kept.call.leading_nowhere:
            one = graph.outputs[at] if at < len(graph.outputs) else None
            row = graph.by_name.get(str(one)) if isinstance(one, NodeName) else None
            noted = None if row is None else row.node.meta.get("example_value")
            if row is None or row.opcode == "placeholder" or noted is None:
                continue
            if getattr(noted, "requires_grad", False):
                form = (str(noted.dtype).removeprefix("torch."), tuple(noted.shape))
                why = "no gradient leads back from it, as one does from the captured graph"
                self.note_fault(
                    Kind.BACKEND,
                    (kept.backend, 1, kept.stage),
                    Evidence(*form, float("inf"), 0.0, 0.0, 0.0, why),
                    [where(graph, row.name)],
                    "the program asked for gradients of what it returned",
                    no_script("no graph says what it runs"),
                    gradient_of=expression_of(row),
                )
                return

    def _compare_traced_gradients(self) -> None:
        """Judge the gradients of a trace by those of autograd, where nothing is wrong."""
        kept, found = self.kept, None
        if self.has_fault or kept.traced is None or not kept.call.has_backward:
            return
        captured, traced = ReplayedGraph(kept.captured), ReplayedGraph(kept.traced)
        with attempting(lambda _error: None):
            given = inputs_of_joint(kept, traced)
            run = replayed(traced, given)
            inputs = inputs_of(kept, captured)
            found = wrong_traced_gradient(captured, inputs, traced, given, run.values)
        if found is None:
            return
        gradients = [expression_of(captured.by_name[one]) for one in found.inputs]
        self.note_fault(
            Kind.TRACE,
            ("AOTAutograd", 1, kept.traced_stage),
            found.evidence,
            [where(traced, name) for name in found.names[:MOST_NAMED]],
            "autograd was asked for the gradients of the captured graph, for the same"
            " gradients of what it returned",
            no_script("no script has what traced the graph"),
            gradient_of="" if found.names else gradients[0],
            gradients=gradients,
        )

    def _hides_gradients(self) -> bool:
        """Whether nobody sees a graph by which gradients could be judged."""
        kept = self.kept
        if (
            self.has_fault
            or kept.is_torchs
            or not kept.call.has_backward
            or kept.given_on is not None
            or kept.traced is not None
        ):
            return False
        why = f"nobody sees the graph that {kept.backend} runs"
        self.leave_out(kept.stage, "gradients", why)
        return True

    def _has_wrong_fakes(self) -> bool:
        """Whether an operator lies of itself, so that no step behind it can be judged."""
        kept = self.kept
        before, why = len(self.total.faults), ""
        with attempting(lambda _error: None):
            why = self._compare_fakes()
        if len(self.total.faults) > before:
            why = "it counts on what a wrong fake kernel says"
        elif why:
            self.total.unjudged += 1
        if why:
            self.leave_out(kept.stage, "each step of the compiler", why)
        return bool(why)

    # -- steps -------------------------------------------------------------------

    def _compare_backend(self) -> None:
        kept = self.kept
        if kept.given_on is None:
            return
        before, after = kept.captured, kept.given_on
        if is_same_graph(before, after):
            return
        self.guarded(
            kept.stage,
            kept.backend,
            self.compare_graphs,
            Kind.BACKEND,
            (kept.backend, 1, kept.stage),
            before,
            after,
        )

    def _compare_behind(self, behind: Behind) -> None:
        """Judge what a backend makes of a graph of AOTAutograd: it may change the graph,
        and run something else.
        """
        half = "backward" if behind.is_backward else "forward"
        name = (behind.name, 1, f"{self.kept.stage}, {half}")
        both = behind.before, behind.after
        count = len(self.total.faults)
        if not is_same_graph(*both):
            inputs = behind.call.values
            self.guarded(
                *(name[2], behind.name, self.compare_graphs),
                *(Kind.BACKEND, name, *both, inputs),
            )
        if len(self.total.faults) == count:
            self.guarded(name[2], behind.name, self._compare_run, behind, name)

    def _compare_run(self, behind: Behind, name: tuple[str, int, str]) -> None:
        call = behind.call
        if call.outputs is None or call.why_not:
            raise NotRun(_why_unknown(call))
        graph = ReplayedGraph(behind.after)
        found = wrong_output(graph, call)
        if found is not None:
            how = f"what it {_gave(found)} is compared with the graph that it was given"
            self.note_fault(
                *(Kind.BACKEND, name, found.evidence, [where(graph, found.name)], how),
                no_script("no graph says what it runs"),
            )

    def _compare_fakes(self) -> str:
        """Judge what operators say of themselves; why nothing behind that can be judged,
        where no fault is named.
        """
        kept = self.kept
        if kept.traced is None:
            return ""
        graph = ReplayedGraph(kept.traced)
        try:
            run = replayed(graph, inputs_of(kept, graph))
        except ChangesInPlace as changes:
            lies = lies_of_writing(graph, changes.node)
            if lies is None:
                raise
            wrong, values = [lies], None
        else:
            wrong, values = [*wrong_fakes(graph, run)], run.values
            if not wrong:
                wrong, values = [*lies_of_memory(graph, run)], None
                if wrong and not self.returns_something_wrong():
                    # It matters only where what it shares memory with is changed.
                    why = f"{wrong[0].operator} {GIVES_MEMORY}"
                    return why if graph.overwritten else ""
        for one in wrong:
            name = (one.operator, 1, kept.traced_stage)
            place = where(graph, one.node)
            how = "compiled code counts on what an operator says of itself"
            if values is None:
                claim = f"{one.operator}: {one.evidence.reason}."
                given = inputs_of(kept, graph)
                scripts = functools.partial(
                    *(of_signature, graph, given, one.node, claim),
                    is_writing=GIVES_MEMORY not in one.evidence.reason,
                )
            else:
                scripts = functools.partial(of_fake, graph, values, one.node)
            self.note_fault(Kind.FAKE, name, one.evidence, [place], how, scripts)
        return ""

    def _compare_decompositions(self) -> None:
        kept = self.kept
        if kept.traced is None or not kept.decomposed:
            self.judged -= 1
            return
        graph = ReplayedGraph(kept.traced)
        run = replayed(graph, inputs_of(self.kept, graph))
        found = judge_decompositions(kept.decomposed, graph, run)
        self.total.decompositions += found.count
        wrong = [one.node for one in found.wrong if one.reaches]
        for one in found.wrong:
            if not one.reaches:
                found.values.pop(one.node, None)
        self.note_values(
            "decompositions", kept.traced_stage, found.values, wrong, kept.traced
        )
        for one in found.wrong:
            name = (str(one.one.operator), 1, kept.traced_stage)
            how = (
                f"with what {one.one.operator} gives, the graph returns something else"
            )
            place = where(graph, one.node)
            self.note_fault(
                Kind.DECOMPOSITION,
                name,
                one.evidence,
                [place],
                how if one.reaches else "",
                lambda one=one: of_decomposition(one, graph, run, self.compiling()),
            )

    def _compare_whole(self) -> None:
        """Judge what the function returned by the captured graph."""
        kept = self.kept
        if kept.call.outputs is None or kept.call.why_not:
            raise NotRun(_why_unknown(kept.call))
        graph = ReplayedGraph(kept.captured)
        found = wrong_output(graph, kept.call)
        if found is None:
            return
        if self._blames_trace(graph):
            return
        values, output = kept.call.values, found.name
        places = [where(graph, found.name)] if found.is_left else []
        is_scripted = kept.is_torchs and not found.is_left
        self.note_fault(
            Kind.UNKNOWN if kept.is_torchs else Kind.BACKEND,
            (kept.backend, 1, kept.stage),
            found.evidence,
            places,
            f"what it {_gave(found)} is compared with the captured graph",
            (lambda: of_function(graph, values, output, self.compiling()))
            if is_scripted
            else None,
        )

    def _blames_trace(self, captured: ReplayedGraph) -> bool:
        """Whether AOTAutograd traced something else, as the function is wrong and each
        step is right that is behind the trace.
        """
        kept = self.kept
        if kept.traced is None:
            return False
        traced, found = ReplayedGraph(kept.traced), None
        with attempting(lambda _error: None):
            run = replayed(traced, inputs_of(kept, traced))
            found = wrong_trace(captured, kept.call, traced, run.values)
        if found is None:
            return False
        self.note_fault(
            Kind.TRACE,
            ("AOTAutograd", 1, kept.traced_stage),
            found.evidence,
            [where(traced, name) for name in found.names],
            "what the function returned is wrong, and each step behind the trace is right",
            no_script("no script has what traced the graph"),
        )
        return True


def _why_unknown(call: KeptCall) -> str:
    """Why nobody knows what a call returned."""
    raised = f"it raised {call.raised}" if call.raised else ""
    return call.why_not or raised or "the budget of memory is used up"


def _gave(found: WrongOutput) -> str:
    return f"left in its input {found.name}" if found.is_left else "returned"
