"""What `fxls runs` says: of all runs in a table, of one in lines, and both as JSON.

Values in, text out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fxls.cli.report import Sources, age, place_as_json, position, rows
from fxls.counted import counted
from fxls.record import (
    ON_REQUEST,
    Cause,
    Compilation,
    Guards,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.record.run_summary import State, Summary
from fxls.store.runs import RecordPart, RunInList

__all__ = [
    "SCHEMA",
    "compilations_of",
    "guards_of",
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
_MANY = 3
"""So many recompilations of a frame are one row."""

_SUBJECTS = {
    Subject.BREAK: "graph break",
    Subject.RECOMPILATION: "guard failed",
    Subject.LIMIT: "limit reached",
    Subject.SKIPPED: "skipped",
    Subject.ERROR: "error",
    Subject.SPECIALIZED: "size fixed",
}


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
    compilations = compilations_of(part)
    lines += [*_phases(compilations), *ranks]
    remarks: dict[str | None, list[Remark]] = {}
    for remark in remarks_of(part):
        remarks.setdefault(remark.compilation, []).append(remark)
    changes = _changes(part)
    of = {one.compilation: one for one in guards_of(part)} if guards else {}
    for group in _grouped(compilations, is_whole=is_whole or guards):
        if len(group) > 1:
            lines += ["", *_recompilations(group, remarks, sources)]
            continue
        (compilation,) = group
        lines += ["", *_compilation(compilation, one.state, sources)]
        for remark in remarks.get(compilation.id, ()):
            lines += _remark(remark, sources)
        changed = changes.get(compilation.id, ())
        if changed:
            lines.append(f"  passes that changed a graph: {', '.join(changed)}")
        if compilation.id in of:
            lines += _guards(of[compilation.id], sources)
    return "\n".join(lines)


def _phases(compilations: Iterable[Compilation]) -> Iterator[str]:
    """The time by phase, the longest first; phases lie in one another."""
    spent: dict[str, float] = {}
    for one in compilations:
        for name, seconds in one.phases:
            spent[name] = spent.get(name, 0.0) + seconds
    longest = sorted(spent.items(), key=lambda pair: -pair[1])[:_MOST_PHASES]
    if longest:
        said = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in longest)
        yield f"time by phase: {said}"


def _grouped(
    compilations: Sequence[Compilation], *, is_whole: bool
) -> Iterator[list[Compilation]]:
    """The compilations in torch's order, those of one frame together; many
    recompilations of a frame, that ended alike, in one group.
    """
    frames: dict[str, list[Compilation]] = {}
    for one in compilations:
        frame, _, which = one.id.partition("/")
        # Behind torch.compiler.reset() there is another frame of this name.
        frames.setdefault(frame + which.partition(" ")[2], []).append(one)
    for of_frame in frames.values():
        again = [one for one in of_frame if _is_plain_recompilation(one)]
        is_one_row = len(again) >= _MANY and not is_whole
        for one in of_frame:
            if not (is_one_row and _is_plain_recompilation(one)):
                yield [one]
            elif one is again[0]:
                yield again


def _is_plain_recompilation(one: Compilation) -> bool:
    return one.cause is Cause.RECOMPILATION and one.outcome is Outcome.OK


def _recompilations(
    group: Sequence[Compilation],
    remarks: Mapping[str | None, Sequence[Remark]],
    sources: Sources,
) -> Iterator[str]:
    """Many recompilations of a frame in one row, with the first guard that failed."""
    first, last = group[0], group[-1]
    spent = sum(one.seconds or 0.0 for one in group)
    yield (
        f"{first.id} to {last.id}  {first.function}: {len(group)} recompilations,"
        f" {spent:.2f} s (--all shows each)"
    )
    failed = [
        remark
        for one in group
        for remark in remarks.get(one.id, ())
        if remark.subject is Subject.RECOMPILATION
    ]
    for remark in failed[:1]:
        yield from _remark(remark, sources)


def _changes(part: RecordPart) -> dict[str | None, list[str]]:
    """The passes that changed a graph, by their compilation, each with its counts."""
    found: dict[str | None, list[str]] = {}
    for entry in part.entries:
        one = entry.event
        if isinstance(one, Pass) and one.changed:
            counts = (("+", one.created), ("-", one.erased), ("~", one.altered))
            said = " ".join(f"{sign}{n.count}" for sign, n in counts if n.count)
            found.setdefault(one.compilation, []).append(f"{one.name} {said}".strip())
    return found


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
    what = _SUBJECTS.get(one.subject, one.subject.value)
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


def compilations_of(part: RecordPart) -> tuple[Compilation, ...]:
    """The compilations of a record, in the order in which they began."""
    found: dict[str, Compilation] = {}
    for entry in part.entries:
        if isinstance(entry.event, Compilation):
            found[entry.event.id] = entry.event
    return tuple(found.values())


def remarks_of(part: RecordPart) -> tuple[Remark, ...]:
    """The remarks of a record, in their order; `fxls remarks` has those of each kind."""
    found = (entry.event for entry in part.entries)
    return tuple(
        one
        for one in found
        if isinstance(one, Remark) and one.subject not in ON_REQUEST
    )


def guards_of(part: RecordPart) -> tuple[Guards, ...]:
    """The guards of each compilation of a record, as it had them last."""
    found = (entry.event for entry in part.entries)
    last = {one.compilation: one for one in found if isinstance(one, Guards)}
    return tuple(last.values())


def runs_as_json(store: str, found: Iterable[RunInList]) -> dict[str, Any]:
    """A list of runs for programs."""
    runs = [_run_as_json(one) for one in found]
    return {"schema": SCHEMA, "store": store, "runs": runs}


def run_as_json(
    one: RunInList, part: RecordPart, *, guards: bool = False
) -> dict[str, Any]:
    """One run for programs; with its guards where they are asked for."""
    asked = {"guards": [_guards_as_json(each) for each in guards_of(part)]}
    return {
        "schema": SCHEMA,
        "run": _run_as_json(one),
        "compilations": [_compilation_as_json(each) for each in compilations_of(part)],
        "remarks": [_remark_as_json(each) for each in remarks_of(part)],
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
