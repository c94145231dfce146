"""What a failure says, and on which lines of the user's."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from fxls.entry import Entry, Kind
from fxls.listing import Failure, Place, Reason
from fxls.text import Span

__all__ = ["Diagnostic", "Related", "Severity", "diagnostics"]


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a diagnostic."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something to say about a span of a file."""

    path: str
    span: Span
    severity: Severity
    reason: Reason
    message: str
    related: tuple[Related, ...] = ()


def diagnostics(
    failure: Failure, entry: Entry, is_own: Callable[[str], bool]
) -> tuple[Diagnostic, ...]:
    """A failure, on the innermost line that the user can change.

    `is_own` tells the user's files from installed ones. When that line is in another
    file than the entry's, the line of the entry's file that led there says so too.
    """
    severity = _severity(failure, entry)
    message = failure.message
    if failure.advice:
        message += f"\n{failure.advice}"
    own = [p for p in failure.places if p.path == entry.path or is_own(p.path)]
    if not own or not any(p.path == entry.path for p in own):
        span = entry.span or Span.of(0, 0, 0, 0)
        own.append(Place(entry.path, "<module>", span))
    shown = [own[0]]
    if own[0].path != entry.path:
        shown.append(next(p for p in own if p.path == entry.path))
    return tuple(
        Diagnostic(
            place.path,
            place.span,
            severity,
            failure.reason,
            message,
            _related(failure, place, entry),
        )
        for place in shown
    )


def _severity(failure: Failure, entry: Entry) -> Severity:
    if entry.kind is Kind.CLASS:
        # Nobody asked for this class to be traced: do not make a user's file red.
        return Severity.NOTE
    return Severity.WARNING if failure.reason is Reason.RUN else Severity.ERROR


def _related(failure: Failure, place: Place, entry: Entry) -> tuple[Related, ...]:
    """The other frames, innermost first, and the entry that was being traced."""

    def in_entry(place: Place) -> bool:
        span = entry.span
        return (
            place.path == entry.path and span is not None and span.encloses(place.span)
        )

    related: list[Related] = []
    for number, other in enumerate(failure.places):
        if other != place and not in_entry(other):
            verb = "it happened in" if number == 0 else "called from"
            message = f"{verb} {other.function}"
            related.append(Related(other.path, other.span, message))
    if entry.span is not None and not in_entry(place):
        message = f"while tracing {entry.expression}"
        related.append(Related(entry.path, entry.span, message))
    return tuple(related)
