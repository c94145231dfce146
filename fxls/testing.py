"""For tests of programs: what torch.compile did in a block, and that it did enough.

The plugin of pytest makes a fixture and a marker of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import torch

from fxls.cli.report import Sources
from fxls.cli.reports.remarks_report import RemarkNow, remark_text
from fxls.counted import counted
from fxls.record import Cause, Compilation, Entry, Event
from fxls.record.baseline import GRAPHS, tally_of
from fxls.record.remarks import RemarkKind, SourceRemark, remarks_of
from fxls.runtime.hearing import hearing
from fxls.serving.ownership import is_own

__all__ = ["Compiled", "compiling"]


class Compiled:
    """What torch.compile did so far."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    @property
    def graphs(self) -> int:
        """How many graphs there are, without those that recompilations made."""
        tally = tally_of(self._entries(), is_own, lambda quoted: quoted.place.path)
        return sum(counts.get(GRAPHS, 0) for counts in tally.functions.values())

    @property
    def recompilations(self) -> int:
        """How often a function was compiled again."""
        return len(
            {
                one.id
                for one in self._events
                if isinstance(one, Compilation) and one.cause is Cause.RECOMPILATION
            }
        )

    @property
    def remarks(self) -> tuple[SourceRemark, ...]:
        """What torch.compile could not do."""
        found = remarks_of(self._entries(), is_own)
        return tuple(one for one in found if one.kind is RemarkKind.PROBLEM)

    def assert_graphs(self, at_most: int = 1) -> None:
        """Raise AssertionError for more graphs, and for none."""
        __tracebackhide__ = True
        count = self.graphs
        if not count:
            raise AssertionError(self._said("torch.compile made no graph"))
        if count > at_most:
            said = f"torch.compile made {counted(count, 'graph')}"
            raise AssertionError(
                self._said(f"{said}, and at most {at_most} are wanted")
            )

    def assert_recompilations(self, at_most: int = 0) -> None:
        """Raise AssertionError for more recompilations."""
        __tracebackhide__ = True
        count = self.recompilations
        if count > at_most:
            verb = "was" if count == 1 else "were"
            said = f"there {verb} {counted(count, 'recompilation')}"
            raise AssertionError(
                self._said(f"{said}, and at most {at_most} are wanted")
            )

    def _entries(self) -> list[Entry]:
        return [Entry(at, 0, 0.0, 0.0, one) for at, one in enumerate(self._events)]

    def _said(self, what: str) -> str:
        """What is wrong, and what torch.compile could not do, with its lines."""
        sources = Sources(Path.cwd())
        lines = [what]
        for one in self.remarks:
            span = one.place and one.place.place.span
            lines += ["", *remark_text(RemarkNow(one, span), sources)]
        return "\n".join(lines)


@contextlib.contextmanager
def compiling() -> Generator[Compiled]:
    """What torch.compile does in the block, beginning with nothing compiled."""
    any_torch: Any = torch
    # What another test compiled would not be compiled again.
    any_torch.compiler.reset()
    with hearing() as events:
        yield Compiled(events)
