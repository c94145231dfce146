"""The host: starts the worker, asks it, and never waits for it without a bound.

Used by the server and by the command line. It must never import torch, the engine or
the protocol.
"""

from __future__ import annotations

import asyncio
import codecs
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from fxls.entry import ORDER, Entry, Producer
from fxls.host.adopted_process import AdoptedProcess
from fxls.host.early_worker import worker_command
from fxls.host.not_started import not_started
from fxls.host.settings import State, Status, WorkerSettings
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
    Hello,
    Outcome,
    Printed,
    Request,
    Stop,
    Trace,
    Traced,
    Tried,
    Try,
    answer_of,
    framed,
)

__all__ = ["Host"]

_GRACE = 5.0
"""Seconds behind a trace's time limit after which the worker itself must be stuck."""
_SILENCE = 15.0
"""Seconds in which a worker that traces nothing must begin with a trace."""
_FAREWELL = 2.0
"""Seconds that a worker has to end what it started, when it is closed."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
"""Seconds between the loss of a worker and the start of the one after it."""
_STARTS = 4
"""How often a worker is started that something kills while it starts."""
_LOSSES = 6
"""How many workers may be lost before a request that waits is given up."""
_CHUNK = 1 << 16


class Host:
    """Asks one worker, which is started by the first request.

    - Of the requests for one entry only the latest is served; an earlier one gets
      `Failed` with `Reason.STOPPED` at once.
    - A worker that is lost is started again, after a pause that grows; a request whose
      trace had begun is asked once more, and one that waited is asked again. So is one
      that something kills while it starts.
    - Belongs to one event loop, which it never blocks.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        on_printed: Callable[[Entry | None, str], None] = lambda _entry, _text: None,
        on_status: Callable[[Status], None] = lambda _status: None,
        early: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """`early` is a worker of these settings that runs already."""
        self._settings = settings
        self._early = early
        self._on_printed = on_printed
        self._on_status = on_status
        self._asks: dict[int, _Ask] = {}
        self._numbers = itertools.count(1)
        self._worker: _Worker | None = None
        self._starting: asyncio.Task[_Worker | Failure] | None = None
        self._broken: Failure | None = None
        self._losses = 0
        self._not_before = 0.0
        self._closed = False

    async def trace(
        self,
        entry: Entry,
        *,
        store: str,
        time_limit: float = 20.0,
        order: tuple[Producer, ...] = ORDER,
        timed: bool = False,
    ) -> Traced | Failed:
        """Trace an entry; cancelling the call stops the trace."""
        self.cancel(entry, "a later request replaced it")
        number = next(self._numbers)
        memory_limit = self._settings.memory_limit
        request = Trace(number, entry, store, time_limit, memory_limit, timed, order)
        answer = await self._asked(request)
        assert isinstance(answer, Traced | Failed)
        return answer

    async def try_change(
        self, entry: Entry, path: str, text: str, *, time_limit: float
    ) -> Tried | Failed:
        """Run an entry as it is, and with another text of a file; may be cancelled."""
        number, memory_limit = next(self._numbers), self._settings.memory_limit
        answer = await self._asked(
            Try(number, entry, path, text, time_limit, memory_limit)
        )
        assert isinstance(answer, Tried | Failed)
        return answer

    async def fit(
        self, entry: Entry, text: str, *, time_limit: float
    ) -> Fitted | Failed:
        """Look for example inputs of an entry that fit its model; may be cancelled.

        `text` is that of the entry's file.
        """
        number, memory_limit = next(self._numbers), self._settings.memory_limit
        answer = await self._asked(Fit(number, entry, text, time_limit, memory_limit))
        assert isinstance(answer, Fitted | Failed)
        return answer

    async def _asked(self, request: Asked) -> Outcome:
        number, loop = request.id, asyncio.get_running_loop()
        ask = _Ask(request, loop.create_future(), loop.create_future())
        self._asks[number] = ask
        try:
            return await self._served(ask)
        finally:
            self._give_up(ask, "it was cancelled")
            del self._asks[number]
            if not self._asks and self._alive is not None:
                self._tell(State.READY, "ready")

    def cancel(self, entry: Entry, why: str = "it was cancelled") -> None:
        """Give up the traces of this entry: each is answered at once."""
        for ask in self._asks.values():
            asked = ask.request.entry
            if not isinstance(ask.request, Trace):
                continue
            if (asked.path, asked.name) == (entry.path, entry.name):
                self._give_up(ask, why)

    async def close(self) -> None:
        """End the worker and all it started; requests are given up."""
        self._closed = True
        for ask in self._asks.values():
            self._give_up(ask, "fxls is closing")
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._early is not None:
            self._early.kill()
            self._early.communicate()
        if self._worker is not None:
            await self._worker.close()
        self._tell(State.IDLE, "closed")

    @property
    def _alive(self) -> _Worker | None:
        worker = self._worker
        return None if worker is None or worker.ended.done() else worker

    @property
    def _is_tracing(self) -> bool:
        return any(ask.began.done() for ask in self._asks.values())

    async def _served(self, ask: _Ask) -> Outcome:
        number = ask.request.id
        begun = 0
        for _ in range(_LOSSES):
            worker = await self._ready(ask)
            if worker is None:
                return ask.answer.result()
            if isinstance(worker, Failure):
                return Failed(number, worker)
            ask.began = asyncio.get_running_loop().create_future()
            worker.send(ask.request)
            answer = await self._answer(ask, worker)
            if answer is not None:
                return answer
            begun += ask.began.done()
            if begun == 2:
                break
        while_it = (
            "twice while it traced"
            if begun == 2
            else "again and again before it traced"
        )
        failure = Failure(
            Reason.WORKER,
            f"the worker was lost {while_it} `{ask.request.entry.expression}`",
            advice="The system may have run out of memory, or the code ends processes "
            "that are not its own.",
        )
        return Failed(number, failure)

    async def _ready(self, ask: _Ask) -> _Worker | Failure | None:
        """A worker that said hello; None when the request was given up."""
        while self._alive is None:
            if self._closed:
                return Failure(Reason.STOPPED, "fxls is closed")
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
            starting = self._starting
            await asyncio.wait(
                {starting, ask.answer}, return_when=asyncio.FIRST_COMPLETED
            )
            if ask.answer.done():
                return None
            if self._starting is starting:
                self._starting = None
            worker = starting.result()
            if isinstance(worker, Failure):
                return worker
        return self._alive

    async def _start(self) -> _Worker | Failure:
        pause = self._not_before - asyncio.get_running_loop().time()
        if pause > 0:
            if self._broken is not None:
                return self._broken
            await asyncio.sleep(pause)
        self._tell(State.STARTING, "starting the worker")
        early, self._early = self._early, None
        worker = await _Worker.start(self._settings, self._receive, self._print, early)
        for _ in range(_STARTS - 1):
            if not isinstance(worker, _Killed):
                break
            self._count_loss()
            self._tell(State.STARTING, "the worker was killed and is started again")
            await asyncio.sleep(self._not_before - asyncio.get_running_loop().time())
            worker = await _Worker.start(self._settings, self._receive, self._print)
        if isinstance(worker, _Killed):
            worker = worker.failure
        if isinstance(worker, Failure):
            self._broken = worker
            self._count_loss()
            self._tell(State.BROKEN, worker.message, worker.advice)
        else:
            self._broken = None
            self._worker = worker
            worker.ended.add_done_callback(self._on_ended)
            self._tell(State.READY, "ready")
        return worker

    async def _answer(self, ask: _Ask, worker: _Worker) -> Outcome | None:
        """The answer to a request that was sent; None when the worker was lost."""
        loop = asyncio.get_running_loop()
        while True:
            events: set[asyncio.Future[Any]] = {ask.answer, worker.ended}
            if ask.began.done():
                until = ask.began.result()
            else:
                until = loop.time() + _SILENCE
                events.add(ask.began)
            await asyncio.wait(
                events,
                timeout=max(until - loop.time(), 0.0),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if ask.answer.done():
                return ask.answer.result()
            if worker.ended.done():
                return None
            if loop.time() >= until and (ask.began.done() or not self._is_tracing):
                # The worker keeps the limit itself, unless it is stuck.
                worker.kill()

    def _give_up(self, ask: _Ask, why: str) -> None:
        if ask.answer.done():
            return
        ask.answer.set_result(Failed(ask.request.id, Failure(Reason.STOPPED, why)))
        if self._alive is not None:
            self._alive.send(Stop(ask.request.id))

    def _receive(self, answer: Answer) -> None:
        match answer:
            case Hello():
                pass
            case Printed(id=number, text=text):
                ask = self._asks.get(number or 0)
                self._print(ask and ask.request.entry, text)
            case Began(id=number):
                if ask := self._asks.get(number):
                    limit = ask.request.time_limit + _GRACE
                    ask.began.set_result(asyncio.get_running_loop().time() + limit)
                    self._tell(State.TRACING, f"tracing {ask.request.entry.expression}")
            case (
                Traced(id=number)
                | Tried(id=number)
                | Fitted(id=number)
                | Failed(id=number)
            ):
                self._losses = 0
                ask = self._asks.get(number)
                if ask is not None and not ask.answer.done():
                    ask.answer.set_result(answer)

    def _print(self, entry: Entry | None, text: str) -> None:
        self._on_printed(entry, text)

    def _on_ended(self, _: asyncio.Future[None]) -> None:
        if not self._closed:
            self._count_loss()
            self._tell(State.STARTING, "the worker was lost and will be started again")

    def _count_loss(self) -> None:
        pause = min(_FIRST_PAUSE * 2**self._losses, _LONGEST_PAUSE)
        self._not_before = asyncio.get_running_loop().time() + pause
        self._losses += 1

    def _tell(self, state: State, message: str, advice: str | None = None) -> None:
        self._on_status(Status(state, message, advice))


@dataclass(frozen=True, slots=True)
class _Killed:
    """A worker that a signal ended before it said hello."""

    failure: Failure


@dataclass(slots=True)
class _Ask:
    """A request that is not answered."""

    request: Asked
    answer: asyncio.Future[Outcome]
    began: asyncio.Future[float]
    """When the worker must have answered; known when the trace has begun."""


class _Worker:
    """One process of the worker, from its hello to its end."""

    def __init__(
        self,
        process: asyncio.subprocess.Process | AdoptedProcess,
        receive: Callable[[Answer], None],
        on_printed: Callable[[Entry | None, str], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._receive = receive
        self._print = on_printed
        self._printed = ""
        self.hello: asyncio.Future[Hello] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._reading = asyncio.create_task(self._read())
        # Also when the event loop ends, and cancels what reads, maybe before it began:
        # who closes the worker waits for this.
        self._reading.add_done_callback(lambda _: self.ended.set_result(None))

    @classmethod
    async def start(
        cls,
        settings: WorkerSettings,
        receive: Callable[[Answer], None],
        on_printed: Callable[[Entry | None, str], None],
        early: subprocess.Popen[bytes] | None = None,
    ) -> _Worker | Failure | _Killed:
        """A worker that said hello, or why there is none."""
        try:
            process = early and await AdoptedProcess.of(early)
            process = process or await asyncio.create_subprocess_exec(
                *worker_command(settings.python, settings.jobs, settings.options),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=settings.cwd,
                # So that Ctrl-C in a terminal ends the host, which then ends it.
                start_new_session=True,
            )
        except OSError as error:
            return not_started(settings.python, error.strerror or str(error))
        worker = cls(process, receive, on_printed)
        try:
            await asyncio.wait(
                {worker.hello, worker.ended},
                timeout=settings.start_limit,
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            await worker.close()
            raise
        if worker.hello.done():
            return worker
        silent = not worker.ended.done()
        worker.kill()
        await worker.ended
        if silent:
            return not_started(
                settings.python, f"it was not ready within {settings.start_limit:g} s"
            )
        status = process.returncode
        if status is not None and status < 0:
            said = f"signal {-status} ended it while it started"
            return _Killed(not_started(settings.python, said))
        return not_started(settings.python, worker._printed)

    def send(self, request: Request) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(framed(request))

    def kill(self) -> None:
        # The kernel, or the end of their pipes, ends its children.
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                # `Process.kill` may take the exit status away from asyncio's own
                # watcher, which then complains on standard error.
                os.kill(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Let it end what it started, and itself; kill it when it does not."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await asyncio.wait({self.ended}, timeout=_FAREWELL)
        self.kill()
        await self.ended

    async def _read(self) -> None:
        errors = asyncio.create_task(self._read_errors())
        try:
            await self._read_answers()
        finally:
            # It cannot answer any more: at its end, or because it sent no message.
            self.kill()
            await self._process.wait()
            await errors

    async def _read_answers(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        head = b""
        while PREAMBLE not in head:
            data = await stdout.read(_CHUNK)
            if not data:
                return
            head += data
        printed, _, rest = head.partition(PREAMBLE)
        if printed:
            self._print(None, printed.decode(errors="replace"))
        frames = Frames()
        data = rest
        while True:
            for payload in frames.feed(data):
                try:
                    answer = answer_of(payload)
                except msgspec.MsgspecError:
                    return
                if isinstance(answer, Hello):
                    self.hello.set_result(answer)
                self._receive(answer)
            data = await stdout.read(_CHUNK)
            if not data:
                return

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := await stderr.read(_CHUNK):
            text = decoder.decode(data)
            self._printed = (self._printed + text)[-_CHUNK:]
            self._print(None, text)
