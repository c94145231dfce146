"""Where the sizes that a record knows are written in a source of today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from fxls.ide.syntax.quoted_places import PlacesNow
from fxls.record import QuotedPlace
from fxls.record.failed_guards import input_span
from fxls.record.sizes import DataSize, InputSize, SizeGuard
from fxls.store import real_path
from fxls.text import Span

__all__ = ["placed_sizes"]


def placed_sizes(
    found: Iterable[InputSize | DataSize], path: str, text: str, now: PlacesNow
) -> tuple[tuple[InputSize | DataSize, Span], ...]:
    """Each size with the parameter, or the line, that it is of in a source.

    What is not on the line that made it so any more says nothing.
    """
    file, lines = _Today(path, now), tuple(text.split("\n"))
    placed: list[tuple[InputSize | DataSize, Span]] = []
    for one in found:
        guards = tuple(file.guards(one.guards))
        if isinstance(one, DataSize):
            span = now.span(one.place)
            if span is not None:
                placed.append((replace(one, guards=guards), span))
            continue
        head, since = now.span(one.function), file.place(one.since)
        span = head and input_span(lines, head.start.line + 1, one.name)
        if span and (one.since is None or since is not None):
            placed.append((replace(one, since=since, guards=guards), span))
    return tuple(placed)


class _Today:
    """Finds places of a file where they are now, and leaves others as they are."""

    def __init__(self, path: str, now: PlacesNow) -> None:
        self._path = real_path(path)
        self._now = now

    def place(self, place: QuotedPlace | None) -> QuotedPlace | None:
        """None where the line was edited."""
        if place is None or real_path(place.place.path) != self._path:
            return place
        span = self._now.span(place)
        if span is None:
            return None
        return structs.replace(place, place=structs.replace(place.place, span=span))

    def guards(self, guards: Iterable[SizeGuard]) -> Iterator[SizeGuard]:
        for guard in guards:
            at = self.place(guard.place)
            if guard.place is None or at is not None:
                yield replace(guard, place=at)
