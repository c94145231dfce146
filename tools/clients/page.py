"""What came out of the runs, as docs/clients.md says it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tools.clients.running import Run
from tools.clients.table import CAUSES, Client

__all__ = ["Result", "differences", "row", "unexplained", "whole"]

_INTRODUCTION = """\
# Clients

Written by `make clients`.

Programs that use torch.fx run their own tests, once with torch.fx and once with each
import of it read as one of `fxls.engine`; their sources stay as they are.
Where a release has no tests, a trial of ours in `tools/clients/trials` does with the
program what its documentation shows.
The source is a release by its hash (sha256), or a commit.
*Alone* are the tests that pass under torch.fx and not under `fxls.engine`; each has a
line below.

| client | version | source | tests | passed, failed, skipped under torch.fx | under fxls.engine | alone |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of both runs of a client, or why there is none."""

    client: Client
    theirs: Run
    ours: Run
    reason: str = ""


def whole(results: list[Result]) -> str:
    """The page."""
    rows = "\n".join(row(result) for result in results)
    return f"{_INTRODUCTION}{rows}\n\n## Differences\n\n{differences(results)}\n"


def row(result: Result) -> str:
    """A client in the table."""
    client, theirs, ours = result.client, result.theirs, result.ours
    source = f"{client.source} `{client.digest[:12]}`"
    if result.reason:
        counts = ("-", f"no run: {result.reason}", "-", "-")
    else:
        tests = len(theirs.outcomes.keys() | ours.outcomes.keys())
        counts = (tests, _counts(theirs), _counts(ours), len(_lost(result)))
    return f"| {' | '.join(map(str, (client.name, client.version, source, *counts)))} |"


def differences(results: list[Result]) -> str:
    """Each test that passes under one of both alone, and why tests pass under neither."""
    lines = [line for result in results for line in _differences(result)]
    return "\n".join(lines) or "None."


def unexplained(result: Result) -> set[str]:
    """The tests that pass under torch.fx alone, and nobody knows why."""
    return {name for name in _lost(result) if not _cause(result.client, name)}


def _differences(result: Result) -> list[str]:
    client = result.client.name
    lines: list[str] = []
    causes = Counter(_cause(result.client, name) for name in _lost(result))
    lines += [
        f"- {client}: {count} under torch.fx alone. {cause}"
        for cause, count in sorted(causes.items())
        if cause
    ]
    for name in sorted(unexplained(result)):
        had = result.ours.outcomes.get(name)
        said = f"{had.word}: {had.why}" if had else "it did not run"
        lines.append(f"- {client}: `{name}` passes under torch.fx alone ({said}).")
    # Of a run that was cut short, the test that ran last only did not end.
    bad = ("failed", "died") if result.theirs.is_whole else ("failed",)
    gained = result.ours.named("passed") & result.theirs.named(*bad)
    if gained:
        names = ", ".join(f"`{name}`" for name in sorted(gained)[:6])
        lines.append(f"- {client}: {len(gained)} under fxls.engine alone: {names}.")
    neither = result.theirs.named(*bad) - gained
    if neither:
        why = result.client.cause or "They fail in the same way."
        lines.append(f"- {client}: {len(neither)} fail under both. {why}")
    for run, name in ((result.theirs, "torch.fx"), (result.ours, "fxls.engine")):
        if not run.is_whole:
            lines.append(
                f"- {client}: the run under {name} was cut short by its limit."
            )
    return lines


def _lost(result: Result) -> set[str]:
    lost = result.theirs.named("passed") - result.ours.named("passed")
    # Of a run that was cut short nobody knows what the rest would have become.
    return lost if result.ours.is_whole else lost & result.ours.named("failed")


def _cause(client: Client, test: str) -> str:
    return next(
        (c.why for c in CAUSES if c.client == client.name and c.test in test), ""
    )


def _counts(run: Run) -> str:
    failed, skipped = run.named("failed", "died"), run.named("skipped")
    return f"{len(run.named('passed'))}, {len(failed)}, {len(skipped)}"
