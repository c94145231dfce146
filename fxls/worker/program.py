"""The program of the worker: says hello, then serves until the host is gone."""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import os
import sys
import threading
from contextlib import suppress
from types import ModuleType
from typing import NoReturn

from fxls.installed_torch import OLDEST, OldTorch, require_installed
from fxls.listing import Failure, Reason
from fxls.wire import PREAMBLE, Answer, Asked, Failed, Hello, framed, read_request
from fxls.worker.catching import UserRaised, caught
from fxls.worker.channel import Channel, send
from fxls.worker.mailbox import SelectorMailbox, ThreadMailbox
from fxls.worker.serve import serve
from fxls.worker.start import Forking, Spawning
from fxls.worker.supervisor import Supervisor

__all__ = ["main"]


def main(channel: Channel) -> None:
    """Serve until the host closes the pipe of the requests."""
    parser = argparse.ArgumentParser("python -m fxls.worker", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="traces at a time")
    parser.add_argument("--spawn", action="store_true", help="do not fork")
    parser.add_argument("--one", action="store_true", help="serve one trace, then end")
    options = parser.parse_args()
    if options.one:
        _serve_one(channel)
    send(channel.answers, PREAMBLE)

    def answer(message: Answer) -> None:
        # The host may be gone, which ends the requests as well.
        with suppress(BrokenPipeError):
            send(channel.answers, framed(message))

    if options.spawn or not hasattr(os, "fork") or sys.platform == "darwin":
        mailbox = ThreadMailbox()
        start = Spawning(mailbox)
        hello = _installed()
    else:
        mailbox = SelectorMailbox()
        hello = _warm()
        start = Forking(mailbox, channel)
    answer(hello)
    Supervisor(mailbox, start, answer, options.jobs, _refusal(hello)).run(
        channel.requests
    )
    # Not by way of `sys.exit`, because threads may still be reading pipes.
    os._exit(0)


def _serve_one(channel: Channel) -> NoReturn:
    hello = _warm()
    with os.fdopen(channel.requests, "rb", buffering=0) as requests:
        request = read_request(requests)
        if not isinstance(request, Asked):
            os._exit(0)
        refusal = _refusal(hello)
        if refusal is not None:
            send(channel.answers, PREAMBLE + framed(Failed(request.id, refusal)))
            os._exit(0)
        # The pipe of the requests ends when the supervisor does.
        end = threading.Thread(target=lambda: requests.read() or os._exit(1))
        end.daemon = True
        end.start()
        serve(request, channel.answers, os.dup(2))


def _warm() -> Hello:
    """Import what every trace needs; forked children have it at once."""
    # Imports make objects that stay: to look for others takes a tenth of the time.
    gc.disable()
    torch = caught(lambda: importlib.import_module("torch"))
    tracing = caught(lambda: importlib.import_module("fxls.worker.trace"))
    # Children then write to fewer of the pages that they share with this process.
    gc.freeze()
    gc.enable()
    for module in (torch, tracing):
        if isinstance(module, UserRaised):
            return Hello(sys.executable, None, _problem(module.error))
    assert isinstance(torch, ModuleType)
    return Hello(sys.executable, str(torch.__version__))


def _installed() -> Hello:
    try:
        version = require_installed()
    except importlib.metadata.PackageNotFoundError:
        return Hello(sys.executable, None, _UNUSABLE.format("torch is not installed"))
    except OldTorch as error:
        return Hello(sys.executable, None, _problem(error))
    return Hello(sys.executable, version)


def _problem(error: BaseException) -> str:
    """Why nothing can be traced here."""
    if isinstance(error, OldTorch):
        return str(error)
    return _UNUSABLE.format(f"{type(error).__name__}: {error}")


def _refusal(hello: Hello) -> Failure | None:
    if hello.torch is not None:
        return None
    return Failure(
        Reason.IMPORT,
        hello.problem or "",
        advice=f"Install torch {OLDEST} or newer into this interpreter, or choose the "
        "interpreter that has it; `fxls doctor` says what works there.",
    )


_UNUSABLE = f"torch cannot be used in {sys.executable}: {{}}"
