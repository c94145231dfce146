"""What `fxls runs` says: of all runs in a table, of one in lines, and both as JSON.

Values in, text out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fxls.cli.report import Sources, age, place_as_json, position, rows
from fxls.counted import counted
from fxls.ide.listing.recorded import change_of
from fxls.record import (
    Cause,
    Compilation,
    Guards,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.record.pattern_runs import PatternRuns
from fxls.record.run_overview import (
    SUBJECTS,
    Compiled,
    compilations_of,
    guards_of,
    overview_of,
    remarks_of,
)
from fxls.record.run_summary import State, Summary
from fxls.store.runs import RecordPart, RunInList

__all__ = [
    "SCHEMA",
    "run_as_json",
    "run_text",
    "runs_as_json",
    "runs_table",
]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""

_COUNTS = (
    ("compilations", "compilation", "compilations"),
    ("recompilations", "recompilation", "recompilations"),
    ("breaks", "graph break", "graph breaks"),
    ("skipped", "skipped", "skipped"),
    ("limits", "limit reached", "limits reached"),
    ("errors", "error", "errors"),
    ("passes", "pass", "passes"),
    ("lost", "event not kept", "events not kept"),
)
"""What of a run is counted, and what one of it and several are called."""

_MOST_PHASES = 8


def runs_table(found: Sequence[RunInList], sources: Sources, now: float) -> str:
    """A line for each run."""
    head = (
        *("program", "rank", "age", "state", "compilations", "recompilations"),
        *("breaks", "other", "time", "run"),
    )
    return rows(head, [_row(one, sources, now) for one in found])


def _row(one: RunInList, sources: Sources, now: float) -> tuple[str, ...]:
    run, summary = one.run, one.summary
    return (
        sources.name(run.program) if run.program else "(none)",
        "" if run.rank is None else str(run.rank),
        age(max(0.0, now - run.start)),
        one.state.value,
        str(summary.compilations),
        str(summary.recompilations or ""),
        str(summary.breaks or ""),
        ", ".join(_others(summary)),
        f"{summary.seconds:.1f} s",
        run.id,
    )


def _others(summary: Summary) -> Iterator[str]:
    if summary.limits:
        yield counted(summary.limits, "limit")
    if summary.errors:
        yield counted(summary.errors, "error")
    if summary.skipped:
        yield f"{summary.skipped} skipped"
    if summary.lost:
        yield counted(summary.lost, "event not kept", "events not kept")


def run_text(
    one: RunInList,
    part: RecordPart,
    sources: Sources,
    ranks: Iterable[str] = (),
    *,
    is_whole: bool = True,
    guards: bool = False,
) -> str:
    """What there is to say of a run, and of the ranks beside it.

    Unless it is to be whole, many recompilations of one frame are one row; the guards
    are there only where they are asked for.
    """
    run = one.run
    program = sources.name(run.program) if run.program else "(none)"
    lines = [f"{' '.join((program, *run.arguments))}: {_ended(one)}", f"run {run.id}"]
    if run.rank is not None:
        of = f" of {run.world_size}" if run.world_size else ""
        lines.append(f"rank {run.rank}{of}")
    lines.append(", ".join(f"{name} {what}" for name, what in run.versions.items()))
    if run.commit:
        lines.append(f"commit {run.commit}")
    counts = [
        counted(count, what, several)
        for name, what, several in _COUNTS
        if (count := getattr(one.summary, name))
    ]
    lines.append(", ".join(counts) or "no compilations")
    if part.left_out:
        left_out = counted(part.left_out, "line")
        lines.append(f"{left_out} of the record cannot be read.")
    overview = overview_of(entry.event for entry in part.entries)
    lines += [*_phases(overview.phases), *ranks]
    for row in overview.rows(is_whole=is_whole or guards):
        compiled, *others = row
        if others:
            lines += ["", *_recompilations(row, sources)]
            continue
        lines += ["", *_compilation(compiled.compilation, one.state, sources)]
        for remark in compiled.remarks:
            lines += _remark(remark, sources)
        if compiled.changes:
            changed = ", ".join(map(_change, compiled.changes))
            lines.append(f"  passes that changed a graph: {changed}")
        if guards and compiled.guards is not None:
            lines += _guards(compiled.guards, sources)
    if overview.searches:
        lines += ["", "patterns", *_patterns(overview.searches, sources)]
    return "\n".join(lines)


def _patterns(found: Iterable[PatternRuns], sources: Sources) -> Iterator[str]:
    """How often the patterns of the program were looked for, and what came of it."""
    for one in found:
        for pattern in one.patterns.values():
            of = "" if pattern.name == one.name else f" of {one.name}"
            said = f"ran {counted(pattern.ran, 'time')} and matched {pattern.matched}"
            at = "" if pattern.place is None else f", {_where(pattern.place, sources)}"
            yield f"  {pattern.name}{of}{at}: {said}"


def _phases(phases: Sequence[tuple[str, float]]) -> Iterator[str]:
    """The time by phase, the longest first."""
    if phases:
        longest = phases[:_MOST_PHASES]
        said = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in longest)
        yield f"time by phase: {said}"


def _recompilations(row: Sequence[Compiled], sources: Sources) -> Iterator[str]:
    """Many recompilations of a frame in one row, with the first guard that failed."""
    first, last = row[0].compilation, row[-1].compilation
    spent = sum(one.compilation.seconds or 0.0 for one in row)
    yield (
        f"{first.id} to {last.id}  {first.function}: {len(row)} recompilations,"
        f" {spent:.2f} s (--all shows each)"
    )
    failed = [
        remark
        for one in row
        for remark in one.remarks
        if remark.subject is Subject.RECOMPILATION
    ]
    for remark in failed[:1]:
        yield from _remark(remark, sources)


def _change(one: Pass) -> str:
    """A pass that changed a graph, with its counts."""
    return f"{one.name} {change_of(one)}".strip()


def _ended(one: RunInList) -> str:
    end = one.summary.end
    return f"raised {end.raised}" if end and end.raised else one.state.value


def _compilation(one: Compilation, state: State, sources: Sources) -> Iterator[str]:
    how = one.outcome.value
    if one.outcome is Outcome.RUNNING and state is State.KILLED:
        how = "killed while it ran"
    at = f", {_where(one.place, sources)}" if one.place else ""
    cause = "" if one.cause is Cause.FIRST else f", {one.cause.value}"
    again = f", attempt {one.attempts}" if one.attempts > 1 else ""
    spent = "" if one.seconds is None else f", {one.seconds:.2f} s"
    cached = f", cached: {', '.join(one.cached)}" if one.cached else ""
    size = "" if one.nodes is None else f", {counted(one.nodes, 'node')}"
    yield f"{one.id}  {one.function}{at}: {how}{cause}{again}{size}{spent}{cached}"


def _remark(one: Remark, sources: Sources) -> Iterator[str]:
    what = SUBJECTS.get(one.subject, one.subject.value)
    number = f" {one.id}" if one.id else ""
    yield f"  {what}{number}: {one.reason}"
    for place in one.places[:1]:
        yield f"    at {_quoted(place, sources)}"
    for hint in one.hints:
        yield f"    help: {hint}"


def _guards(found: Guards, sources: Sources) -> Iterator[str]:
    for guard in found.first:
        yield f"  guard {guard.kind}: {guard.text}"
        if guard.place is not None:
            yield f"    at {_quoted(guard.place, sources)}"
    if found.count > len(found.first):
        yield f"  ... and {counted(found.count - len(found.first), 'guard')} more"


def _where(quoted: QuotedPlace, sources: Sources) -> str:
    return f"{sources.name(quoted.place.path)}:{position(quoted)}"


def _quoted(quoted: QuotedPlace, sources: Sources) -> str:
    line = quoted.line.strip()
    return _where(quoted, sources) + (f": {line}" if line else "")


def runs_as_json(store: str, found: Iterable[RunInList]) -> dict[str, Any]:
    """A list of runs for programs."""
    runs = [_run_as_json(one) for one in found]
    return {"schema": SCHEMA, "store": store, "runs": runs}


def run_as_json(
    one: RunInList, part: RecordPart, *, guards: bool = False
) -> dict[str, Any]:
    """One run for programs; with its guards where they are asked for."""
    events = [entry.event for entry in part.entries]
    asked = {"guards": [_guards_as_json(each) for each in guards_of(events)]}
    return {
        "schema": SCHEMA,
        "run": _run_as_json(one),
        "compilations": [
            _compilation_as_json(each) for each in compilations_of(events)
        ],
        "remarks": [_remark_as_json(each) for each in remarks_of(events)],
        "left_out": part.left_out,
        **(asked if guards else {}),
    }


def _guards_as_json(found: Guards) -> dict[str, Any]:
    return {
        "compilation": found.compilation,
        "count": found.count,
        "first": [
            {"kind": one.kind, "text": one.text, "place": _place_as_json(one.place)}
            for one in found.first
        ],
    }


def _run_as_json(one: RunInList) -> dict[str, Any]:
    run, summary = one.run, one.summary
    return {
        "id": run.id,
        "launch": run.launch,
        "parent": run.parent,
        "program": run.program,
        "arguments": list(run.arguments),
        "pid": run.pid,
        "rank": run.rank,
        "world_size": run.world_size,
        "start": run.start,
        "last": summary.last,
        "state": one.state.value,
        "raised": summary.end.raised if summary.end else None,
        "versions": dict(run.versions),
        "commit": run.commit,
        "seconds": summary.seconds,
        "running": summary.running,
        "changes": summary.changes,
        "remarks": summary.remarks,
        "truncated": summary.is_truncated,
        **{name: getattr(summary, name) for name, *_ in _COUNTS},
    }


def _compilation_as_json(one: Compilation) -> dict[str, Any]:
    return {
        "id": one.id,
        "function": one.function,
        "place": _place_as_json(one.place),
        "cause": one.cause.value,
        "causes": list(one.causes),
        "outcome": one.outcome.value,
        "reason": one.reason,
        "attempts": one.attempts,
        "seconds": one.seconds,
        "phases": dict(one.phases),
        "cached": list(one.cached),
        "nodes": one.nodes,
        "guards": one.guards,
    }


def _remark_as_json(one: Remark) -> dict[str, Any]:
    return {
        "subject": one.subject.value,
        "reason": one.reason,
        "compilation": one.compilation,
        "id": one.id,
        "hints": list(one.hints),
        "places": [_place_as_json(place) for place in one.places],
    }


def _place_as_json(quoted: QuotedPlace | None) -> dict[str, Any] | None:
    if quoted is None:
        return None
    return place_as_json(quoted.place) | {"text": quoted.line, "digest": quoted.digest}
