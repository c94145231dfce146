"""What `fxls bisect` says of settings of torch, and of commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fxls.cli.searches.searched_settings import SearchedSettings
from fxls.cli.searches.trials import Answer, Outcome, Trials
from fxls.counted import counted

__all__ = ["commits_as_json", "commits_text", "settings_as_json", "settings_text"]

_SCHEMA = 1


def settings_text(searched: SearchedSettings) -> str:
    """The settings under which nothing is wrong, and what is wrong without them."""
    runs = _runs(searched.runs, searched.open)
    if searched.is_good:
        return f"nothing is wrong {runs}"
    if searched.usual.answer is Answer.OPEN:
        return f"nobody can say: {searched.usual.what} {runs}"
    lines = [f"bad: {searched.usual.what}"]
    if not searched.found:
        count = counted(searched.tried, "setting")
        return "\n".join([*lines, f"none of {count} makes it right {runs}"])
    lines += [
        f"right with: {name} = {value!r}" for name, value in searched.found.items()
    ]
    count = counted(len(searched.found), "setting")
    return "\n".join(
        [
            *lines,
            f"{count} of {searched.tried} {'makes' if len(searched.found) == 1 else 'make'} it right {runs}",
        ]
    )


def settings_as_json(searched: SearchedSettings) -> dict[str, Any]:
    """The same for programs."""
    verdict = {Answer.GOOD: "good", Answer.BAD: "bad", Answer.OPEN: "open"}
    return {
        "schema": _SCHEMA,
        "verdict": verdict[searched.usual.answer],
        "what": searched.usual.what,
        "settings": dict(searched.found),
        "tried": searched.tried,
        "runs": searched.runs,
        "open_runs": searched.open,
    }


def commits_text(
    commits: Sequence[str], outcome: Outcome | None, trials: Trials
) -> str:
    """The first bad commit, and what is wrong there."""
    runs = _runs(trials.runs, trials.open)
    if outcome is None:
        return f"nobody can say: {commits[0]} is not what it was said to be {runs}"
    first = "the first bad commit is" if len(commits) == 1 else "it is one of"
    lines = [f"{first} {', '.join(commits)}", f"  {outcome.what}"]
    return "\n".join([*lines, runs.strip("()")])


def commits_as_json(
    commits: Sequence[str], outcome: Outcome | None, trials: Trials
) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": _SCHEMA,
        "verdict": "open" if outcome is None else "bad",
        "what": None if outcome is None else outcome.what,
        "commits": [*commits],
        "runs": trials.runs,
        "open_runs": trials.open,
    }


def _runs(runs: int, unsaid: int) -> str:
    said = f", in {unsaid} of which nobody can say" if unsaid else ""
    return f"({counted(runs, 'run')}{said})"
