"""What the comparison of all compilations of a program comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from fxls.attempt import attempting
from fxls.runtime.faults import saying
from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.numbers.judgements import Judgements
from fxls.verdicts.comparison import Fault, Finding, Reproducer, Unseen

__all__ = ["Scripts", "Total", "no_script"]

Scripts = Callable[[], Sequence[Reproducer]]


def no_script(why: str) -> Scripts:
    """What says why there are no scripts."""

    def raising() -> Sequence[Reproducer]:
        raise NotRun(why)

    return raising


class Total:
    """The faults, what was not seen, and how much was judged."""

    def __init__(
        self,
        judgements: Judgements | None,
        *,
        is_reproducing: bool,
    ) -> None:
        self._is_reproducing = is_reproducing
        self.judgements = judgements
        self.reproducers: Sequence[Reproducer] = ()
        self.no_reproducer = ""
        self.faults: list[Fault] = []
        self.unseen: list[Unseen] = []
        self.findings: list[Finding] = []
        self.graphs = self.passes = self.decompositions = self.kernels = 0
        self.more_compilations = self.unjudged = 0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """How many faults there are, how much was not seen, and how many graphs were."""
        return len(self.faults), len(self.unseen), self.graphs, self.unjudged

    def say_of_call(self, count: int, before: tuple[int, int, int, int]) -> None:
        """Say of the faults since then in which call they are: what was not seen in the
        first one is said already.
        """
        faults, unseen, self.graphs, self.unjudged = before
        del self.unseen[unseen:]
        for at in range(faults, len(self.faults)):
            one = self.faults[at]
            how = f"{one.confirmed}; in call {count} of its graph, and not in the first"
            self.faults[at] = msgspec.structs.replace(one, confirmed=how)

    def take(self, fault: Fault, scripts: Scripts | None) -> None:
        """Note a fault; of the first there are scripts, if they are asked for."""
        is_first = not self.faults
        self.faults.append(fault)
        if is_first:
            self._write(scripts)

    def take_finding(self, found: Finding, scripts: Scripts) -> None:
        """Note what is no fault; of the first there are scripts, unless a fault has some."""
        is_first = not self.faults and not self.findings
        self.findings.append(found)
        if is_first:
            self._write(scripts)

    def _write(self, scripts: Scripts | None) -> None:
        self.reproducers, self.no_reproducer = (), ""
        if not self._is_reproducing:
            return
        if scripts is None:
            self.no_reproducer = "there is no graph of what the backend runs"
            return

        def failed(error: Exception) -> None:
            if not isinstance(error, NotRun):
                saying("there is no reproducer")(error)
            self.no_reproducer = str(error) or type(error).__name__

        with attempting(failed):
            self.reproducers = scripts()
            if not self.reproducers:
                self.no_reproducer = "no part of the graph is wrong when it is alone"
