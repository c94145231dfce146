"""What became of each test of a run: a line of JSON for each thing that is known.

A line is written as soon as something happens, so that of a run that is cut short, or
whose process dies, all is known that happened before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ENDED", "Outcome", "add", "is_whole", "outcomes", "passing"]

ENDED = ""
"""The name under which a run says that it came to its end."""
_WEIGHT = {"died": 0, "passed": 1, "skipped": 2, "failed": 3}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test, and the first line of what it said."""

    word: str
    """``passed``, ``skipped``, ``failed``, or ``died`` when it did not end."""
    why: str = ""


def add(record: Path, test: str, outcome: str, why: str = "") -> None:
    """Add a line to a record."""
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, outcome, why[:300]]) + "\n")


def outcomes(lines: Iterable[str]) -> dict[str, Outcome]:
    """By the name of a test what became of it: the worst of what its parts became."""
    found: dict[str, Outcome] = {}
    for line in lines:
        name, word, why = json.loads(line)
        before = found.get(name)
        if name == ENDED:
            continue
        if before is None or _WEIGHT[word] >= _WEIGHT[before.word]:
            found[name] = Outcome(word, why)
    return found


def is_whole(lines: Iterable[str]) -> bool:
    """Whether the run came to its end."""
    return any(json.loads(line)[0] == ENDED for line in lines)


def passing(lines: Iterable[str]) -> str:
    """A record of those tests that need not run again: they passed, or were skipped."""
    good = {n: o for n, o in outcomes(lines).items() if o.word in {"passed", "skipped"}}
    return "".join(json.dumps([n, o.word, o.why]) + "\n" for n, o in good.items())
