"""The kernels that a run made: for each call what it computes, from which lines, and how
long that took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from fxls.cli.report import Sources, place_as_json
from fxls.counted import counted
from fxls.listing import Facts, Listing
from fxls.record import Event, RevisionName, Spent
from fxls.record.kernel_times import CALL, KernelTimes, kernel_times, spent_by_listing
from fxls.record.run_overview import code_of

__all__ = ["kernels_as_json", "kernels_text"]

_MOST = 24
"""So many calls of one graph are printed; JSON has them all."""
_DEAR = 1.25
"""Where calls take that much longer for being looked at, their shares say little."""
_NO_TIMES = (
    "  no times: the lines of its kernels did not run again after the first call"
)
_NODES = 4
"""So many nodes of a call are named, and so many lines."""

_Read = Callable[[RevisionName], Listing | None]


def kernels_text(events: Iterable[Event], read: _Read, sources: Sources) -> list[str]:
    """For each graph of a run that inductor wrote code for, the calls of kernels."""
    events = [*events]
    spent = spent_by_listing(events)
    lines: list[str] = []
    by_line: dict[str, float] = {}
    for name, ids, listing in _code(events, read):
        of = f"{', '.join(ids[:_NODES])}  " if ids else ""
        stage = f"{name.identity.qualname} {name.identity.stage}"
        lines += ["", f"{of}{stage}  {name.text}"]
        measured = spent.get((name.identity, name.text))
        times = kernel_times(measured, listing)
        if measured is not None:
            lines += [_NO_TIMES] if times is None else _measured_text(times)
        lines += _calls_text(listing, times, sources)
        if times is not None:
            for node, seconds in times.kernels.items():
                # Nobody knows what each of the fused lines took.
                where = _lines(listing, node, sources) or "no line of the program"
                by_line[where] = by_line.get(where, 0.0) + seconds * times.calls
    return lines + _by_line_text(by_line)


def _calls_text(
    listing: Listing, times: KernelTimes | None, sources: Sources
) -> Iterator[str]:
    calls = [*_calls(listing)]
    for node, facts in calls[:_MOST]:
        computed = _first([*facts.made_from])
        shown = _lines(listing, node, sources, _NODES)
        said = f"{facts.name}, line {facts.line + 1}"
        said = f"{said}: {computed}" if computed else said
        if times is not None:
            seconds = times.kernels[node]
            said = f"{_percent(seconds, times.each)} {seconds * 1e3:.3f} ms {said}"
        yield f"  {said}, from {shown}" if shown else f"  {said}"
    if (more := len(calls) - _MOST) > 0:
        yield f"  and {counted(more, 'more call')}"
    if times is not None:
        yield f"  {_percent(times.rest, times.each)} all that is no kernel"


def _by_line_text(by_line: dict[str, float]) -> list[str]:
    """The time in kernels by the lines of the program that they compute."""
    if not by_line:
        return []
    lines = ["", "time in kernels, by the lines of the program"]
    whole = sum(by_line.values())
    found = sorted(by_line.items(), key=lambda one: -one[1])
    for where, seconds in found[:_MOST]:
        lines.append(f"  {_percent(seconds, whole)} {where}")
    if (more := len(found) - _MOST) > 0:
        rest = sum(seconds for _, seconds in found[_MOST:])
        places = counted(more, "more place")
        lines.append(f"  {_percent(rest, whole)} {places}")
    return lines


def kernels_as_json(events: Iterable[Event], read: _Read) -> dict[str, Any]:
    """The same for programs."""
    events = [*events]
    spent = spent_by_listing(events)
    return {
        "kernels": [
            {
                "listing": name.text,
                "stage": name.identity.stage,
                "compilations": ids,
                "call": facts.name,
                "kernel": facts.target,
                "line": facts.line + 1,
                "nodes": facts.made_from,
                "places": [
                    place_as_json(origin.places[0]) for origin in listing.origins(node)
                ],
                **_measured(spent.get((name.identity, name.text)), facts.line),
            }
            for name, ids, listing in _code(events, read)
            for node, facts in _calls(listing)
        ]
    }


def _measured(spent: Spent | None, line: int) -> dict[str, Any]:
    if spent is None or not spent.calls:
        return {}
    return {
        "calls": spent.calls,
        "seconds": dict(spent.lines).get(line, 0.0),
        "of_seconds": spent.seconds,
        "whole_calls": spent.whole_calls,
        "whole_seconds": spent.whole_seconds,
    }


def _measured_text(times: KernelTimes) -> list[str]:
    """How long the code took, with a look at each line and without."""
    said = f"  {times.each * 1e3:,.3f} ms each in {counted(times.calls, 'call')}"
    if times.whole is None:
        return [said]
    lines = [f"{said}, {times.whole * 1e3:,.3f} ms when nobody looks at its lines"]
    if times.each > times.whole * _DEAR:
        more = (times.each - times.whole) / times.whole
        lines.append(
            f"  looking added {more:.0%}: shares need longer kernels, or more calls"
        )
    return lines


def _percent(seconds: float, whole: float) -> str:
    return f"{seconds / whole if whole else 0.0:4.0%}"


def _code(
    events: Iterable[Event], read: _Read
) -> Iterator[tuple[RevisionName, tuple[str, ...], Listing]]:
    """The listings of code of the run, and the compilations that made each."""
    for name, ids in code_of(events).items():
        listing = read(name)
        if listing is not None:
            yield name, ids, listing


def _calls(listing: Listing) -> Iterator[tuple[int, Facts]]:
    for node, facts in enumerate(listing.nodes):
        if facts.opcode == CALL:
            yield node, facts


def _lines(
    listing: Listing, node: int, sources: Sources, most: int | None = None
) -> str:
    """The lines that a call computes: each file once, with at most so many lines."""
    places = [origin.places[0] for origin in listing.origins(node)]
    lines = [
        *dict.fromkeys((place.path, place.span.start.line + 1) for place in places)
    ]
    by_file: dict[str, list[str]] = {}
    for path, line in sorted(lines[:most], key=itemgetter(1)):
        by_file.setdefault(sources.name(path), []).append(str(line))
    shown = "; ".join(f"{path}:{', '.join(by_file[path])}" for path in sorted(by_file))
    more = len(lines[most:]) if most is not None else 0
    return f"{shown} and {counted(more, 'more line')}" if more else shown


def _first(words: list[str]) -> str:
    more = len(words) - _NODES
    shown = ", ".join(words[:_NODES])
    return f"{shown} and {more} more" if more > 0 else shown
