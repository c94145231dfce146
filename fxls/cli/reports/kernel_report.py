"""The kernels that a run made: for each call what it computes, from which lines, and how
long that took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fxls.cli.report import Sources, place_as_json
from fxls.counted import counted
from fxls.listing import Facts, Identity, Listing
from fxls.record import Event, RevisionName, Spent
from fxls.record.run_overview import code_of

__all__ = ["kernels_as_json", "kernels_text"]

_MOST = 24
"""So many calls of one graph are printed; JSON has them all."""
_DEAR = 1.25
"""Where calls take that much longer for being watched, their shares say little."""
_NODES = 4
"""So many nodes of a call are named, and so many lines."""

_Read = Callable[[RevisionName], Listing | None]


def kernels_text(events: Iterable[Event], read: _Read, sources: Sources) -> list[str]:
    """For each graph of a run that inductor wrote code for, the calls of kernels."""
    events = [*events]
    spent = _spent(events)
    lines: list[str] = []
    by_line: dict[str, float] = {}
    for name, listing in _code(events, read):
        calls = [*_calls(listing)]
        took = spent.get((name.identity, name.text))
        lines += ["", f"{name.identity.qualname} {name.identity.stage}  {name.text}"]
        lines += [] if took is None else _measured_text(took)
        if took is not None and not took.calls:
            took = None
        for node, facts in calls[:_MOST]:
            computed = _first([*facts.made_from])
            places = [*dict.fromkeys(_lines(listing, node, sources))]
            shown = _first(places)
            said = f"  {facts.name}, line {facts.line + 1}"
            if took is not None:
                each = dict(took.lines).get(facts.line, 0.0) / took.calls * 1e3
                share = _share(took, facts.line)
                said = f"  {share} {each:.3f} ms {said.strip()}"
            said = f"{said}: {computed}"
            lines.append(f"{said}, from {shown}" if shown else said)
        if (more := len(calls) - _MOST) > 0:
            lines.append(f"  and {counted(more, 'more call')}")
        if took is not None:
            times = dict(took.lines)
            rest = took.seconds - sum(times.get(one.line, 0.0) for _, one in calls)
            lines.append(f"  {_percent(rest, took.seconds)} all that is no kernel")
            for node, facts in calls:
                places = [*dict.fromkeys(_lines(listing, node, sources))]
                # Nobody knows what each of the fused lines took.
                where = ", ".join(places) or "no line of the program"
                by_line[where] = by_line.get(where, 0.0) + times.get(facts.line, 0.0)
    if by_line:
        lines += ["", "time in kernels, by the lines of the program"]
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
    spent = _spent(events)
    return {
        "kernels": [
            {
                "listing": name.text,
                "stage": name.identity.stage,
                "call": facts.name,
                "kernel": facts.target,
                "line": facts.line + 1,
                "nodes": facts.made_from,
                "places": [
                    place_as_json(origin.places[0]) for origin in listing.origins(node)
                ],
                **_measured(spent.get((name.identity, name.text)), facts.line),
            }
            for name, listing in _code(events, read)
            for node, facts in _calls(listing)
        ]
    }


def _spent(events: Iterable[Event]) -> dict[tuple[Identity, str], Spent]:
    """The time of each listing that was measured: a program may load its code again."""
    found: dict[tuple[Identity, str], Spent] = {}
    for one in events:
        if isinstance(one, Spent):
            of = (one.revision.identity, one.revision.text)
            found[of] = _together(found[of], one) if of in found else one
    return found


def _together(one: Spent, other: Spent) -> Spent:
    lines = dict(one.lines)
    for line, seconds in other.lines:
        lines[line] = lines.get(line, 0.0) + seconds
    return Spent(
        one.revision,
        one.calls + other.calls,
        one.seconds + other.seconds,
        tuple(lines.items()),
        one.whole_calls + other.whole_calls,
        one.whole_seconds + other.whole_seconds,
    )


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


def _measured_text(spent: Spent) -> list[str]:
    """How long the code took, with a look at each line and without."""
    if not spent.calls:
        return ["  no times: it did not run again after its first call"]
    each = spent.seconds / spent.calls
    said = f"  {each * 1e3:,.3f} ms each in {counted(spent.calls, 'call')}"
    if not spent.whole_calls:
        return [said]
    whole = spent.whole_seconds / spent.whole_calls
    calls = counted(spent.whole_calls, "call")
    lines = [f"{said}; {whole * 1e3:,.3f} ms in {calls} that ran unwatched"]
    if each > whole * _DEAR:
        more = (each - whole) / whole
        lines.append(
            f"  watching added {more:.0%}: the kernels are too short for shares to count on"
        )
    return lines


def _share(spent: Spent, line: int) -> str:
    return _percent(dict(spent.lines).get(line, 0.0), spent.seconds)


def _percent(seconds: float, whole: float) -> str:
    return f"{seconds / whole if whole else 0.0:4.0%}"


def _code(
    events: Iterable[Event], read: _Read
) -> Iterator[tuple[RevisionName, Listing]]:
    """The listings of code of the run."""
    for name in code_of(events):
        listing = read(name)
        if listing is not None:
            yield name, listing


def _calls(listing: Listing) -> Iterator[tuple[int, Facts]]:
    for node, facts in enumerate(listing.nodes):
        if facts.opcode == "call_kernel":
            yield node, facts


def _lines(listing: Listing, node: int, sources: Sources) -> Iterator[str]:
    for origin in listing.origins(node):
        place = origin.places[0]
        yield f"{sources.name(place.path)}:{place.span.start.line + 1}"


def _first(words: list[str]) -> str:
    more = len(words) - _NODES
    shown = ", ".join(words[:_NODES])
    return f"{shown} and {more} more" if more > 0 else shown
