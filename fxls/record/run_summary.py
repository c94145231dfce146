"""What is said of a run in a list: counts, how it ended, and how far they were counted.

It lies beside the record, so that a list reads no record; what the record has behind
the place that it was counted to is counted by whoever reads it.
"""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec

from fxls.encodable import encoded
from fxls.formats import other_format
from fxls.record import (
    ON_REQUEST,
    SCHEMA,
    Cause,
    Compilation,
    Counts,
    End,
    Entry,
    Outcome,
    Pass,
    RecordError,
    Remark,
    Run,
    Searched,
    Subject,
    Truncated,
)

__all__ = ["State", "Summary", "Tally", "decode", "encode", "state_of"]

_Natural = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

_MOST_IDS = 100_000


class State(enum.Enum):
    """Where a run is."""

    RUNNING = "running"
    ENDED = "ended"
    RAISED = "raised"
    """An exception ended it."""
    KILLED = "killed"
    """Its process is gone, and could not say that it ended."""
    UNKNOWN = "unknown"
    """It has not ended, as far as is known, on a machine that is not this one."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is counted of a record."""

    run: Run
    size: _Natural = 0
    """So many bytes of the record are counted."""
    compilations: _Natural = 0
    recompilations: _Natural = 0
    breaks: _Natural = 0
    skipped: _Natural = 0
    limits: _Natural = 0
    errors: _Natural = 0
    running: _Natural = 0
    """Compilations that have begun and not ended."""
    passes: _Natural = 0
    changes: _Natural = 0
    """Passes that changed their graph."""
    searches: _Natural = 0
    """How often a pass looked for patterns."""
    remarks: _Natural = 0
    seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Of all compilations; those inside of others count twice."""
    last: float = 0.0
    """When the last event was, in seconds since 1970."""
    is_truncated: bool = False
    lost: _Natural = 0
    """Events that are counted here or nowhere, and not written."""
    end: End | None = None


class Tally:
    """Counts the events of one run, in their order."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._compilations: dict[str, tuple[Outcome, Cause, float]] = {}
        self._earlier = 0
        self._passes = self._changes = self._remarks = self._breaks = self._lost = 0
        self._searches = 0
        self._last = run.start
        self._is_truncated = False
        self._end: End | None = None

    def count(self, entry: Entry, *, is_written: bool = True) -> None:
        """Count one more event; one that is not written is lost as well."""
        self._last = max(self._last, entry.time)
        self._lost += not is_written
        match entry.event:
            case Compilation() as one:
                if len(self._compilations) < _MOST_IDS or one.id in self._compilations:
                    self._compilations[one.id] = (
                        *(one.outcome, one.cause),
                        one.seconds or 0.0,
                    )
                else:
                    self._earlier += one.outcome is not Outcome.RUNNING
            case Pass(changed=changed):
                self._passes += 1
                self._changes += changed
            case Searched():
                self._searches += 1
            case Remark(subject=subject) if subject in ON_REQUEST:
                pass
            case Remark(subject=subject):
                self._remarks += 1
                self._breaks += subject is Subject.BREAK
            case Truncated():
                self._is_truncated = True
            case Counts(lost=lost):
                self._lost = max(self._lost, lost)
            case End() as end:
                self._end = end
            case _:
                pass

    def lose(self, count: int) -> None:
        """Take note of events that were not even taken."""
        self._lost += count

    @property
    def lost(self) -> int:
        """How many events are not written."""
        return self._lost

    def summary(self, size: int) -> Summary:
        """What was counted, in so many bytes."""
        outcomes = [outcome for outcome, _, _ in self._compilations.values()]
        causes = [cause for _, cause, _ in self._compilations.values()]
        return Summary(
            run=self._run,
            size=size,
            compilations=len(outcomes) + self._earlier,
            recompilations=causes.count(Cause.RECOMPILATION),
            breaks=self._breaks,
            skipped=outcomes.count(Outcome.SKIPPED),
            limits=outcomes.count(Outcome.LIMIT),
            errors=outcomes.count(Outcome.ERROR),
            running=outcomes.count(Outcome.RUNNING),
            passes=self._passes,
            changes=self._changes,
            searches=self._searches,
            remarks=self._remarks,
            seconds=sum(seconds for _, _, seconds in self._compilations.values()),
            last=self._last,
            is_truncated=self._is_truncated,
            lost=self._lost,
            end=self._end,
        )


def state_of(
    run: Run, end: End | None, *, is_here: bool, is_booted: bool, is_alive: bool
) -> State:
    """Where a run is.

    `is_here` tells whether it is of this machine, `is_booted` whether the machine is up
    since then, `is_alive` whether there is a process of that number.
    """
    if end is not None:
        return State.ENDED if end.raised is None else State.RAISED
    if not is_here:
        return State.UNKNOWN
    return State.RUNNING if is_booted and is_alive else State.KILLED


def encode(summary: Summary) -> bytes:
    """The file of a summary."""
    return encoded(summary, _encoder.encode)


def decode(content: bytes) -> Summary:
    """The summary of a file; raises `RecordError`."""
    try:
        found = msgspec.json.decode(content, type=Summary)
    except (
        *(msgspec.MsgspecError, UnicodeDecodeError, RecursionError, MemoryError),
    ) as error:
        raise RecordError(f"it is damaged: {error}") from error
    if found.run.schema > SCHEMA:
        raise RecordError(f"it {other_format(found.run.schema, SCHEMA)}")
    return found


_encoder = msgspec.json.Encoder()
