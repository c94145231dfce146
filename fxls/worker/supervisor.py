"""The loop that takes requests, keeps the traces within bounds, and answers."""

from __future__ import annotations

import codecs
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from fxls.listing import Failure, Reason
from fxls.wire import (
    PREAMBLE,
    Answer,
    Asked,
    Began,
    Failed,
    Fit,
    Fitted,
    Frames,
    Outcome,
    Printed,
    Stop,
    Told,
    Trace,
    Traced,
    Tried,
    Try,
    Trying,
    request_of,
    told_of,
)
from fxls.worker.deaths import death, lost, stuck
from fxls.worker.mailbox import Mailbox
from fxls.worker.processes import Child
from fxls.worker.refusals import in_sum
from fxls.worker.serve import AFTER
from fxls.worker.start import Start

__all__ = ["Supervisor"]

_GRACE = 0.25
"""Seconds that the last of what was printed may take to get here."""

_DEATH = 1.0
"""Seconds that an answer, or a death, may take to get here on a busy machine."""

_PRINTED = 1 << 20
"""Bytes of what one trace prints that are passed on."""


_ANSWERS = {Trace: Traced, Try: Tried, Fit: Fitted}


@dataclass(slots=True)
class _Job:
    request: Asked
    child: Child
    deadline: float
    received: bytes = b""
    trying: Trying | None = None
    """What is answered when the process gives no answer."""
    answers_open: bool = True
    prints_open: bool = True
    printed: int = 0
    outcome: Outcome | None = None
    settled: float = 0.0
    """When nothing more could come of it but what it printed."""
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )


class Supervisor:
    """Traces that wait, and traces that run, at most `jobs` at a time.

    With a `refusal` none runs: it is the answer to every trace.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        start: Start,
        send: Callable[[Answer], None],
        jobs: int,
        refusal: Failure | None,
    ) -> None:
        self._mailbox = mailbox
        self._start = start
        self._send = send
        self._jobs = jobs
        self._refusal = refusal
        self._waiting: deque[Asked] = deque()
        self._running: list[_Job] = []
        self._frames = Frames()
        self._open = True
        self._needs_large = False

    def run(self, requests: int) -> None:
        """Serve until the requests end; then nothing that was started is left."""
        self._mailbox.watch(requests, self._on_requests)
        while self._open:
            self._mailbox.wait(self._patience())
            for job in tuple(self._running):
                self._review(job)
            self._fill()
            if self._needs_large and not self._running:
                # Behind the answer, so that who asked does not wait for it as well.
                self._needs_large = False
                self._start.load()
        for job in self._running:
            if job.outcome is None:
                job.child.end()
        self._start.tidy(())

    def _on_requests(self, data: bytes) -> None:
        if not data:
            self._open = False
            return
        for payload in self._frames.feed(data):
            match request_of(payload):
                case Trace(id=number) | Try(id=number) | Fit(id=number) if (
                    self._refusal is not None
                ):
                    self._send(Failed(number, self._refusal))
                case Trace() | Try() | Fit() as request:
                    self._waiting.append(request)
                case Stop(id=number):
                    self._stop(number)

    def _stop(self, number: int) -> None:
        failure = Failure(Reason.STOPPED, "the trace was stopped")
        for request in tuple(self._waiting):
            if request.id == number:
                self._waiting.remove(request)
                self._send(Failed(number, failure))
        for job in self._running:
            if job.request.id == number and job.outcome is None:
                self._settle(job, Failed(number, failure))

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._jobs:
            request = self._waiting.popleft()
            self._send(Began(request.id))
            deadline = time.monotonic() + request.time_limit + AFTER + _DEATH
            job = _Job(request, self._start.child(request), deadline)
            self._running.append(job)
            self._mailbox.watch(job.child.answers, lambda d, j=job: self._answer(j, d))
            self._mailbox.watch(job.child.prints, lambda d, j=job: self._print(j, d))

    def _answer(self, job: _Job, data: bytes) -> None:
        if not data:
            job.answers_open = False
            # What cannot answer any more has a moment to die of itself, so that its
            # status tells of what.
            job.deadline = min(job.deadline, time.monotonic() + _DEATH)
            return
        job.received += data
        while job.outcome is None:
            note, _, message = job.received.partition(PREAMBLE)
            payload = next(iter(Frames().feed(message)), None)
            if payload is None:
                return
            told = _told(payload, job.request)
            if isinstance(told, Outcome):
                self._settle(job, told)
                return
            if isinstance(told, Trying):
                job.trying = told
            else:
                self._needs_large = True
            job.received = note + message[4 + len(payload) :]

    def _print(self, job: _Job, data: bytes) -> None:
        if not data:
            job.prints_open = False
            return
        text = job.decoder.decode(data[: _PRINTED - job.printed])
        if job.printed < _PRINTED <= job.printed + len(data):
            text += "\n[it printed more, which is left out]\n"
        job.printed = min(job.printed + len(data), _PRINTED)
        if text:
            self._send(Printed(job.request.id, text))

    def _review(self, job: _Job) -> None:
        if job.outcome is None:
            self._look_after(job)
        if job.outcome is not None and (
            not job.prints_open or time.monotonic() >= job.settled + _GRACE
        ):
            self._finish(job, job.outcome)

    def _look_after(self, job: _Job) -> None:
        """Settle a job that died or is over its time."""
        request, status = job.request, job.child.status()
        path = request.entry.path
        if status is not None:
            if not job.answers_open or time.monotonic() >= job.deadline:
                failure = death(path, status, job.received)
                self._settle(job, _of_end(job, failure))
            else:
                # A process that it forked may hold the pipe open for ever.
                job.deadline = min(job.deadline, time.monotonic() + _DEATH)
        elif time.monotonic() >= job.deadline:
            failure = (
                stuck(path, request.time_limit, job.received)
                if job.answers_open
                else lost(path)
            )
            self._settle(job, _of_end(job, failure))

    def _settle(self, job: _Job, outcome: Outcome) -> None:
        job.outcome = outcome
        job.settled = time.monotonic()
        job.child.end()

    def _finish(self, job: _Job, outcome: Outcome) -> None:
        self._mailbox.forget(job.child.answers)
        self._mailbox.forget(job.child.prints)
        self._running.remove(job)
        self._start.tidy({other.child.pid for other in self._running})
        self._send(outcome)

    def _patience(self) -> float | None:
        """Seconds until a job has to be looked after; None for no job."""
        if not self._running:
            return None
        soonest = min(
            job.deadline if job.outcome is None else job.settled + _GRACE
            for job in self._running
        )
        return max(soonest - time.monotonic(), 0.0)


def _of_end(job: _Job, failure: Failure) -> Failed:
    """The answer of a process that gave none, and came to this end."""
    trying = job.trying
    if trying is None:
        return Failed(job.request.id, failure, (job.request.entry.path,))
    whole = in_sum(trying.failed.failure, [(trying.producer, failure)])
    return msgspec.structs.replace(trying.failed, failure=whole)


def _told(payload: bytes, request: Asked) -> Told:
    """What a payload says, which user code may have written as well."""
    with suppress(msgspec.MsgspecError):
        told = told_of(payload)
        about = told.failed if isinstance(told, Trying) else told
        of_others = tuple(
            answer for asked, answer in _ANSWERS.items() if asked is not type(request)
        )
        if about.id == request.id and not isinstance(told, of_others):
            return told
    return Failed(request.id, lost(request.entry.path), (request.entry.path,))
