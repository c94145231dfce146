"""What a failure says, and on which lines of the user's."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from fxls.entry import Entry, Kind
from fxls.ide.listing.defects import Defect, DefectKind
from fxls.ide.listing.document import Document
from fxls.ide.listing.freshness import Freshness, freshness_in_words
from fxls.listing import Failure, Place, Reason
from fxls.record import Subject
from fxls.record.remark_wording import costs_of, role_of, title_of
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.text import Span

__all__ = [
    "Diagnostic",
    "Related",
    "Severity",
    "diagnostics",
    "doubtful",
    "held_back",
    "in_place",
    "listing_diagnostics",
    "remark_diagnostics",
]


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    HINT = "hint"
    """Shown by how the code looks, in no list."""


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
    reason: Reason | DefectKind | Subject
    message: str
    related: tuple[Related, ...] = ()
    unnecessary: bool = False
    """Whether the span could be left out."""
    failure: Failure | None = field(default=None, compare=False, repr=False)
    entry: Entry | None = field(default=None, compare=False, repr=False)
    """What was being traced when the failure happened."""
    code: str = ""
    """Another's number for the reason, as ``GB0059``."""
    page: str | None = None
    """The address of what they say of it."""


def diagnostics(
    failure: Failure, entry: Entry, is_own: Callable[[str], bool]
) -> tuple[Diagnostic, ...]:
    """A failure, on the innermost line that the user can change.

    `is_own` tells the user's files from installed ones. When that line is in another
    file than the entry's, the line of the entry's file that led there says so too.
    """
    severity = _severity(failure, entry)
    message = failure.message
    if failure.instead:
        message += f"\n{failure.instead} captures it: its graph is shown."
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
            failure=failure,
            entry=entry,
        )
        for place in shown
    )


def in_place(failures: Iterable[Failure], kind: Kind) -> Iterable[Diagnostic]:
    """Failures that say themselves where they stand."""
    for failure in failures:
        entry = Entry(failure.places[0].path, "", kind)
        yield from diagnostics(failure, entry, lambda path: True)


def held_back(failure: Failure) -> Iterable[Diagnostic]:
    """Why an entry is traced only when somebody asks."""
    for diagnostic in in_place((failure,), Kind.COMMENT):
        yield replace(diagnostic, severity=Severity.NOTE)


def doubtful(found: Iterable[tuple[Failure, Entry]]) -> Iterable[Diagnostic]:
    """Failures that nobody has seen yet."""
    for failure, entry in found:
        for diagnostic in in_place((failure,), Kind.COMMENT):
            yield replace(diagnostic, severity=Severity.WARNING, entry=entry)


def listing_diagnostics(
    document: Document, freshness: Freshness, wrong: Iterable[Defect]
) -> tuple[Diagnostic, ...]:
    """What a listing says of itself: its defects, and its age."""
    found = [_of_defect(document, defect) for defect in wrong]
    said = freshness_in_words(document, freshness)
    if said:
        related: tuple[Related, ...] = ()
        if freshness.newest is not None:
            there = freshness.newest.start
            related = (Related(there.path, there.focus, "the newest revision"),)
        focus = document.start.focus
        found.insert(
            0,
            Diagnostic(
                document.path, focus, Severity.NOTE, Reason.STALE, said, related
            ),
        )
    return tuple(found)


def remark_diagnostics(
    path: str,
    found: Iterable[tuple[SourceRemark, Span]],
    severity: Severity = Severity.HINT,
) -> tuple[Diagnostic, ...]:
    """The problems among the remarks of a file, each with where its place is today."""
    return tuple(
        _of_remark(path, remark, span, severity)
        for remark, span in found
        if remark.kind is RemarkKind.PROBLEM
    )


def _of_remark(
    path: str, remark: SourceRemark, span: Span, severity: Severity
) -> Diagnostic:
    related = tuple(
        Related(frame.place.path, frame.place.span, role_of(frame, remark))
        for frame in remark.frames
        if frame != remark.place
    )
    return Diagnostic(
        path,
        span,
        # It was a run's, and may be as intended; but for what nobody can intend.
        Severity.WARNING if remark.subject in _NEVER_INTENDED else severity,
        remark.subject,
        "\n".join((title_of(remark), *costs_of(remark), *remark.hints)),
        related,
        code=remark.id,
        page=remark.page,
    )


def _of_defect(document: Document, defect: Defect) -> Diagnostic:
    dead = defect.kind in (DefectKind.DEAD, DefectKind.UNREAD)
    related: tuple[Related, ...] = ()
    if defect.cause is not None:
        verb = (
            "it is set to None" if defect.kind is DefectKind.FREED else "it is defined"
        )
        span = defect.cause.span
        related = (Related(document.path, span, f"{verb} here"),)
    return Diagnostic(
        document.path,
        defect.span,
        _SEVERITIES.get(defect.kind, Severity.ERROR),
        defect.kind,
        defect.message,
        related,
        unnecessary=dead,
    )


_NEVER_INTENDED = (Subject.LIMIT, Subject.NUMBERS)
_SEVERITIES = {
    DefectKind.DEAD: Severity.HINT,
    DefectKind.UNREAD: Severity.HINT,
    DefectKind.SHAPE: Severity.WARNING,
}


def _severity(failure: Failure, entry: Entry) -> Severity:
    if failure.instead:
        return Severity.HINT
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
    for other in failure.others:
        there = next(iter(other.places), place)
        related.append(Related(there.path, there.span, other.message))
    return tuple(related)
