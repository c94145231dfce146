"""What `fxls check` says: what became worse or better, and on which line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fxls.cli.report import Sources, place_as_json, position
from fxls.cli.reports.remarks_report import RemarkNow, remark_as_json, remark_text
from fxls.ide.syntax.quoted_places import PlacesNow
from fxls.record import QuotedPlace
from fxls.record.baseline import Change, Comparison, Tally, counts_a_function
from fxls.record.remarks import SourceRemark

__all__ = ["SCHEMA", "check_as_json", "check_text"]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""

_MOST_REMARKS = 4
"""So many places of one count are shown."""


def check_text(name: str, tally: Tally, found: Comparison, sources: Sources) -> str:
    """What became worse with its remarks, what became better, and how much of each."""
    lines: list[str] = []
    for change in found.worse:
        lines += [*_said(change, "worse", tally, sources)]
        remarks = _remarks(change, tally)
        for remark in remarks[:_MOST_REMARKS]:
            lines += remark_text(_now(remark, sources), sources)
        if len(remarks) > _MOST_REMARKS:
            lines.append(f"note: {len(remarks) - _MOST_REMARKS} more are not shown")
        lines.append("")
    for change in found.better:
        lines += _said(change, "better", tally, sources)
    if found.better:
        lines.append("")
    worse, better = len(found.worse), len(found.better)
    lines.append(f"{name}: {worse} worse, {better} better than the baseline")
    if tally.matches is None:
        lines.append(
            "note: a cache had what was compiled: no matches and kernels are compared"
        )
    if worse or better:
        lines.append("help: The same command with --update makes this the baseline.")
    return "\n".join(lines)


def check_as_json(
    name: str,
    path: Path,
    runs: Sequence[str],
    tally: Tally,
    found: Comparison,
    sources: Sources,
) -> dict[str, Any]:
    """The comparison for programs."""
    return {
        "schema": SCHEMA,
        "program": name,
        "baseline": str(path),
        "runs": list(runs),
        "has_matches": tally.matches is not None,
        "worse": [_as_json(one, tally, sources) for one in found.worse],
        "better": [_as_json(one, tally, sources) for one in found.better],
    }


def _said(change: Change, word: str, tally: Tally, sources: Sources) -> Iterator[str]:
    place = _place(change, tally)
    where = ""
    if place is not None:
        where = f"{sources.name(place.place.path)}:{position(place)}: "
    function = f"{change.function}: " if change.function else ""
    yield f"{where}{word}: {function}{change.what}: {change.now}, was {change.was}"


def _as_json(change: Change, tally: Tally, sources: Sources) -> dict[str, Any]:
    place = _place(change, tally)
    return {
        "function": change.function,
        "what": change.what,
        "was": change.was,
        "now": change.now,
        "place": place and place_as_json(place.place),
        "remarks": [
            remark_as_json(_now(one, sources)) for one in _remarks(change, tally)
        ],
    }


def _place(change: Change, tally: Tally) -> QuotedPlace | None:
    for remark in _remarks(change, tally):
        if remark.place is not None:
            return remark.place
    return tally.heads.get(change.function) if counts_a_function(change.what) else None


def _remarks(change: Change, tally: Tally) -> list[SourceRemark]:
    return tally.remarks.get((change.function, change.what), [])


def _now(remark: SourceRemark, sources: Sources) -> RemarkNow:
    place = remark.place
    if place is None:
        return RemarkNow(remark, None)
    return RemarkNow(
        remark, PlacesNow(sources.lines(place.place.path).text).span(place)
    )
