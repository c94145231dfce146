"""What is noted of one compilation while its steps are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import torch

from fxls.attempt import attempting
from fxls.runtime.faults import saying
from fxls.runtime.numbers.blame import called
from fxls.runtime.numbers.graphs import NeverRan, NotRun
from fxls.runtime.numbers.judging.claims import Suspicion
from fxls.runtime.numbers.kept import Copies, KeptCompilation
from fxls.runtime.numbers.room import NoRoom
from fxls.runtime.numbers.total import Scripts, Total
from fxls.runtime.passes.graph_state import GraphState
from fxls.verdicts.comparison import Evidence, Fault, Kind, Unseen, Where, off

__all__ = ["Notes"]


_MOST_NAMED = 3
_DOUBT = "and nobody can tell whether it matters"


class Notes:
    """Faults, values and what was left out, of one compilation."""

    def __init__(self, kept: KeptCompilation, copies: Copies, total: Total) -> None:
        self.kept = kept
        self.copies = copies
        self.total = total
        self.judged: int = 0
        """How many steps were."""
        self.missed: list[tuple[str, str]] = []
        """The stage and the name of each step that could not be."""
        self.wrong_nodes: list[Suspicion] = []
        """Single nodes that compiled code computes wrongly, with what it gives."""

    @property
    def has_fault(self) -> bool:
        return any(one.compilation == self.kept.name for one in self.total.faults)

    def note_fault(
        self,
        kind: Kind,
        name: tuple[str, int, str],
        evidence: Evidence,
        places: Sequence[Any],
        how: str | None,
        scripts: Scripts | None = None,
        *,
        gradient_of: str = "",
        gradients: Sequence[str] = (),
        computed_by: Sequence[str] = (),
    ) -> None:
        """Note a fault; an empty `how` says that it changes nothing that is returned, and
        None that nobody knows.
        """
        if how == "":
            return
        title, ordinal, stage = name
        if how is None:
            nodes = [one.node for one in places[:_MOST_NAMED]]
            named = "one of " * (len(nodes) > 1) + ", ".join(nodes)
            why = f"{named or 'a value'}: {off(evidence)}, {_DOUBT}"
            self.leave_out(stage, title, why, is_suspect=True)
            return
        fault = Fault(
            *(kind, self.kept.name, stage, title, ordinal),
            self.called(places),
            evidence,
            how,
            gradient_of=gradient_of,
            gradients=tuple(gradients),
            computed_by=tuple(computed_by),
        )
        if not self._is_of_a_pass_inside(fault):
            self.total.take(fault, scripts)

    def _is_of_a_pass_inside(self, fault: Fault) -> bool:
        """Whether a pass that this one calls is at fault already, for the same change."""
        if fault.kind is not Kind.PASS:
            return False
        faults = self.total.faults
        for at, one in enumerate(faults):
            if _change_of(one) == _change_of(fault):
                how = f"{one.confirmed}; it is called by the pass {fault.name}"
                faults[at] = msgspec.structs.replace(one, confirmed=how)
                return True
        return False

    def called(self, nodes: Sequence[Where]) -> tuple[Where, ...]:
        """Nodes, of which those without a place have that of the program's call."""
        return tuple(called(one, self.kept.called_by) for one in nodes)

    def note_values(
        self,
        step: str,
        stage: str,
        values: Mapping[str, Evidence],
        wrong: Sequence[str],
        state: GraphState | None = None,
    ) -> None:
        if self.total.judgements is not None:
            self.total.judgements.note(
                self.kept, stage, step, values, wrong, state=state
            )

    def note_open(
        self, name: tuple[str, int, str], unjudged: Mapping[str, str]
    ) -> None:
        by_reason: dict[str, list[str]] = {}
        for node, why in unjudged.items():
            by_reason.setdefault(why, []).append(node)
        for why, nodes in by_reason.items():
            shown = ", ".join(nodes[:4]) + (
                f" and {len(nodes) - 4} more" if len(nodes) > 4 else ""
            )
            self.leave_out(name[2], f"{name[0]}: {shown}", why)

    def leave_out(
        self, stage: str, what: str, why: str, *, is_suspect: bool = False
    ) -> None:
        self.total.unseen.append(Unseen(self.kept.name, stage, what, why, is_suspect))

    def guarded(self, stage: str, what: str, compare: Any, *args: Any) -> None:
        """Compare; what keeps it from being compared is said."""

        def failed(error: Exception) -> None:
            is_said = isinstance(error, NotRun | NoRoom)
            why = str(error) if is_said else repr(error)[:200]
            if _is_of_memory(error):
                why = "there was too little memory left for it"
            elif not is_said:
                saying(f"{what} of {stage} is not compared")(error)
            if not isinstance(error, NeverRan):
                self.missed.append((stage, what))
            self.leave_out(stage, what, why)

        with attempting(failed):
            compare(*args)
            self.judged += 1


def _change_of(fault: Fault) -> tuple[object, ...]:
    """What tells the changes of two passes from one another."""
    one = fault
    return one.kind, one.compilation, one.stage, one.where, one.evidence


def _is_of_memory(error: Exception) -> bool:
    """Whether memory was asked for and not given, by whatever it was."""
    kinds = MemoryError, torch.cuda.OutOfMemoryError
    return isinstance(error, kinds) or "t allocate memory" in str(error)
