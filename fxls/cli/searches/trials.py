"""Runs a program again under other circumstances, and asks whether its fault is there."""

from __future__ import annotations

import enum
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from fxls.cli.command import say
from fxls.cli.followed_program import START
from fxls.counted import counted

__all__ = ["Answer", "Outcome", "Trials", "smallest"]


class Answer(enum.Enum):
    """What one run of the program says."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    """Nobody can say."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the program came to."""

    answer: Answer
    what: str
    """What is wrong, in a line."""
    kind: str = ""
    """Equal for what may be the same fault."""


@dataclass(slots=True)
class Trials:
    """Runs of one program; what it prints goes to standard error."""

    command: Sequence[str]
    """What is asked of it: `compare`, or `bisect` with its check, and options."""
    flags: Sequence[str]
    """Those of Python."""
    program: Sequence[str]
    environment: Mapping[str, str]
    runs: int = 0
    open: int = 0
    wanted: str = ""
    """The kind of the fault that is searched for; of another one nobody can say."""
    _known: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    def run(
        self,
        settings: Mapping[str, Any] | None = None,
        folder: Path | None = None,
        of: str = "",
    ) -> Outcome:
        """Run it under other settings of torch, or in another folder, with what it is `of`:
        a commit.
        """
        written = json.dumps(dict(settings or {}), sort_keys=True)
        key = f"{folder} {written}"
        if folder is None and key in self._known:
            return self._known[key]
        command = [sys.executable, *self.flags, "-c", START, *self.command, "--json"]
        is_file = self.program[0] != "-m"
        ended = subprocess.run(
            [*command, *["--"] * is_file, *self.program],
            env={**self.environment, "FXLS_SETTINGS": written},
            cwd=folder,
            stdout=subprocess.PIPE,
            check=False,
        )
        found = _outcome(ended.stdout)
        if self.wanted and found.answer is Answer.BAD and found.kind != self.wanted:
            found = replace(found, answer=Answer.OPEN)
        self.runs += 1
        self.open += found.answer is Answer.OPEN
        self._known[key] = found
        # A run takes as long as the program does, and there may be many.
        how = f" under {counted(len(settings), 'other setting')}" if settings else ""
        how += f" of {of}" if of else ""
        say(f"run {self.runs}{how}: {found.answer.value}")
        return found


def smallest(
    candidates: Sequence[str], is_enough: Callable[[Sequence[str]], bool]
) -> list[str] | None:
    """As few of these as are enough together, none of which can be left out; None where
    all of them are not. `is_enough` is asked seldom: once for each halving, mostly.
    """
    if not is_enough(candidates):
        return None

    def needed(base: list[str], rest: Sequence[str], *, is_new: bool) -> list[str]:
        if is_new and is_enough(base):
            return []
        if len(rest) == 1:
            return [*rest]
        half = len(rest) // 2
        first, second = rest[:half], rest[half:]
        of_second = needed([*base, *first], second, is_new=True)
        of_first = needed([*base, *of_second], first, is_new=bool(of_second))
        return [*of_first, *of_second]

    return needed([], candidates, is_new=False)


def _outcome(printed: bytes) -> Outcome:
    """What a run said; what it ended with itself is a fault like any other."""
    try:
        found = cast("dict[str, Any]", json.loads(printed))
    except ValueError:
        return Outcome(Answer.OPEN, "it did not run")
    for fault in found.get("faults", ()):
        kind = str(fault.get("raised") or "numbers").partition(":")[0]
        return Outcome(Answer.BAD, _numbers(fault), kind)
    for bad in found.get("found", ()):
        who = bad["name"] or "the graph as it was captured"
        return Outcome(
            Answer.BAD, f"{who}, in {bad['stage']}: {bad['reason']}", "check"
        )
    raised = found.get("raised")
    if raised is not None:
        # Who asks a function of the program's graphs did not ask whether it ends well.
        answer = Answer.BAD if "faults" in found else Answer.OPEN
        return Outcome(answer, f"the program ended with {raised}", str(raised))
    if found["verdict"] in ("right", "good"):
        return Outcome(Answer.GOOD, "")
    return Outcome(Answer.OPEN, found.get("refused") or "nobody can say")


def _numbers(fault: Mapping[str, Any]) -> str:
    nodes = ", ".join(node["name"] for node in fault["nodes"])
    who = f"{fault['kind']} {fault['name']}".strip() + f", in {fault['stage']}"
    if fault.get("raised"):
        return f"{who}: it raises {fault['raised']}"
    return f"{who}: {nodes or 'what the function returns'} is wrong"
