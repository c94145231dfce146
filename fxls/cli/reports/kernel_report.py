"""The kernels that a run made: for each call what it computes, and from which lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fxls.cli.report import Sources, place_as_json
from fxls.listing import KERNELS, Facts, Listing
from fxls.record import Event, Made, RevisionName

__all__ = ["kernels_as_json", "kernels_text"]

_MOST = 24
"""So many calls of one graph are printed; JSON has them all."""
_NODES = 4
"""So many nodes of a call are named, and so many lines."""

_Read = Callable[[RevisionName], Listing | None]


def kernels_text(events: Iterable[Event], read: _Read, sources: Sources) -> list[str]:
    """For each graph of a run that inductor wrote code for, the calls of kernels."""
    lines: list[str] = []
    for name, listing in _code(events, read):
        calls = [*_calls(listing)]
        lines += ["", f"{name.identity.qualname} {name.identity.stage}  {name.text}"]
        for node, facts in calls[:_MOST]:
            computed = _first([*facts.made_from])
            places = _first([*dict.fromkeys(_lines(listing, node, sources))])
            said = f"  {facts.name}, line {facts.line + 1}: {computed}"
            lines.append(f"{said}, from {places}" if places else said)
        if (more := len(calls) - _MOST) > 0:
            lines.append(f"  and {more} more call{'s' if more > 1 else ''}")
    return lines


def kernels_as_json(events: Iterable[Event], read: _Read) -> dict[str, Any]:
    """The same for programs."""
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
            }
            for name, listing in _code(events, read)
            for node, facts in _calls(listing)
        ]
    }


def _code(
    events: Iterable[Event], read: _Read
) -> Iterator[tuple[RevisionName, Listing]]:
    """The listings of code that the run made, each once, as it made them last."""
    made = {
        (one.revision.identity, one.revision.text): one.revision
        for one in events
        if isinstance(one, Made)
        and one.revision.identity.stage.rpartition(", ")[2] == KERNELS
    }
    for name in made.values():
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
