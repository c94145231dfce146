"""The life of a process that serves one request."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import traceback
from contextlib import suppress
from types import FrameType
from typing import NoReturn, cast

from fxls.listing import Failure, Reason
from fxls.wire import PREAMBLE, Asked, Failed, Fit, Loaded, Outcome, Try, framed
from fxls.worker.catching import UserRaised, caught
from fxls.worker.channel import send
from fxls.worker.limits import MemoryLimit, end_time, limit_time, watch_for_death

__all__ = ["AFTER", "LARGE", "serve"]

AFTER = 1.0
"""Seconds behind the time limit after which the code is taken to be stuck in C."""

LARGE = "torch._dynamo"
"""Takes seconds to import, with sympy. torch does so for a tensor on the device "meta",
for torch.export and for torch.compile, in each process that has not done so.
"""


def serve(request: Asked, answers: int, log: int) -> NoReturn:
    """Answer on a pipe and end the process, without its ``atexit`` and threads.

    What is written to the pipe is the text of a crash, if there was one, and behind
    `PREAMBLE` the answer, if it came to that; ahead of it, behind a `PREAMBLE` of its
    own, what failed before the next producer was tried. A fault of fxls leaves its traceback on `log`.
    """
    # Not at the top: the supervisor imports this module, and there may be no torch.
    import torch  # noqa: PLC0415

    owner = os.getpid()
    had_large = LARGE in sys.modules
    # Kept, because user code may put anything in their place.
    streams = cast(list[io.TextIOWrapper], [sys.stdout, sys.stderr])

    def answer(outcome: Outcome) -> NoReturn:
        # A process that the user's code forked comes by here as well.
        if os.getpid() == owner:
            _flush(streams)
            if LARGE in sys.modules and not had_large:
                send(answers, PREAMBLE + framed(Loaded(request.id)))
            send(answers, PREAMBLE + framed(outcome))
        os._exit(0)

    def at_end(frame: FrameType | None) -> None:
        answer(attempt.out_of_time(frame))

    sys.argv = [request.entry.path]
    sys.dont_write_bytecode = True
    for stream in streams:
        stream.reconfigure(
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
            write_through=False,
        )
    # A pool of threads costs more than it brings for one run of a model, and its
    # stacks would count as memory of the user's.
    torch.set_num_threads(1)
    memory = MemoryLimit(request.memory_limit)
    memory.set()

    def note(text: str) -> None:
        send(log, text.encode())

    # Not at the top, as torch; and a trace does not wait for what few requests need.
    if isinstance(request, Try):
        from fxls.worker.repair import RepairAttempt  # noqa: PLC0415

        attempt = RepairAttempt(request, memory, note)
    elif isinstance(request, Fit):
        from fxls.worker.fitting.attempt import FitAttempt  # noqa: PLC0415

        attempt = FitAttempt(request, memory, note)
    else:
        from fxls.worker.trace import Attempt  # noqa: PLC0415

        attempt = Attempt(
            *(request, memory, note),
            lambda trying: send(answers, PREAMBLE + framed(trying)),
        )
    watch_for_death(answers, request.time_limit + AFTER)
    limit_time(request.time_limit, at_end)
    outcome = caught(attempt.outcome)
    end_time()
    if isinstance(outcome, UserRaised):
        # The attempt itself takes whatever the user's code raises.
        send(log, "".join(traceback.format_exception(outcome.error)).encode())
        outcome = Failed(request.id, _fault(outcome.error), (request.entry.path,))
    answer(outcome)


def _fault(error: BaseException) -> Failure:
    return Failure(
        Reason.WORKER,
        f"fxls failed with {type(error).__name__}",
        advice="This is a fault of fxls: please report it, with the worker's log.",
    )


def _flush(streams: list[io.TextIOWrapper]) -> None:
    for stream in streams:
        # The user's code may have closed it.
        with suppress(OSError, ValueError):
            stream.flush()
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
