"""What a program was watched for and what was found, said on its last line.

Reports stand where the program was, between its output or in what a test runner keeps
to itself; this line comes when all of that is over.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence

from fxls.counted import counted

__all__ = ["tally"]


_COMPARED = ("nan", "inf", "grad-nan")
"""The rules that `fxls compare` knows."""


class _Tally:
    """Counts in this process; a forked child starts with what its parent had."""

    def __init__(self) -> None:
        self.calls = 0
        """How often the forward of a listing ran; who runs it adds to this."""
        self._rules: tuple[str, ...] = ()
        self._listings: set[str] = set()
        self._findings = 0
        self._first = ""
        self._process = 0
        self._is_main = True

    def watch(self, rules: Sequence[str], *, is_main: bool | None = None) -> None:
        """Say at the end what was found of these rules; nothing, for none.

        A process that is not the main one says nothing when it watched nothing.
        """
        self._rules = tuple(rules)
        if is_main is not None:
            self._is_main = is_main
        if self._rules and self._process != os.getpid():
            self._process = os.getpid()
            atexit.register(self._say)

    def watched(self, listing: str) -> None:
        """Count a listing, by its path."""
        self._listings.add(listing)

    def found(self, summary: str) -> None:
        """Count a node that breaks a rule."""
        self._findings += 1
        self._first = self._first or summary

    def line(self) -> str:
        """The line."""
        rules = ", ".join(self._rules)
        if not self._listings:
            return f"nothing was watched for {rules}, because the program made no graph"
        graphs = counted(len(self._listings), "graph")
        if not self.calls:
            was = "it was" if len(self._listings) == 1 else "they were"
            return (
                f"nothing was watched for {rules}: the program made {graphs}, and"
                f" {was} not called"
            )
        watched = f"watched for {rules} in {counted(self.calls, 'call')} of {graphs}"
        if not self._findings:
            return f"{watched}: no findings"
        if self._findings == 1:
            return f"{watched}: 1 finding, {self._first}"
        return f"{watched}: {self._findings:,} findings, the first {self._first}"

    def _say(self) -> None:
        is_ours = self._process == os.getpid() and self._rules
        if is_ours and (self._is_main or self._listings) and sys.stderr is not None:
            sys.stderr.write(f"fxls: {self.line()}\n{self._advice()}")

    def _advice(self) -> str:
        """What to run next; only what torch.compile made can be compared."""
        rules = [one for one in self._rules if one in _COMPARED]
        if not self._findings or not rules or "torch._dynamo" not in sys.modules:
            return ""
        return (
            f"help: `fxls compare --break-on {','.join(rules)}` and the same program say"
            " whether the model makes it or its compiler, and with --reproduce a script\n"
        )


tally = _Tally()
"""Of this process."""
