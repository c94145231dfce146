"""How long the server takes from the start of its process to its first answer.

Beside it, in turns, a Python that does nothing and one that only imports the types of
the protocol, without which no server of pygls answers: a busy machine slows all three
down. Wall and CPU time are medians.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["IMPORT", "MOST", "NOTHING", "SERVE", "Start", "ratio", "starts"]

MOST = 1.0
"""The most that `ratio` may be; it is 0.6 to 0.7, and was 1.1 when all types were made."""

NOTHING = "python that does nothing"
IMPORT = "import lsprotocol.types"
SERVE = "fxls serve, to the answer of initialize"


class Start(NamedTuple):
    """What a program cost from its start until it did something."""

    wall: float
    cpu: float
    memory: float
    """The most that was resident, in MiB."""


def starts(runs: int) -> dict[str, Start]:
    """The medians of each program."""
    programs = {
        NOTHING: (("-c", ""), _wait),
        IMPORT: (("-c", "import lsprotocol.types"), _wait),
        SERVE: (("-m", "fxls", "serve"), _initialize),
    }
    costs: dict[str, list[Start]] = {name: [] for name in programs}
    for run in range(runs + 1):
        for name, (arguments, until) in programs.items():
            cost = _cost(arguments, until)
            # The first run fills the caches.
            if run:
                costs[name].append(cost)
    return {name: _median(found) for name, found in costs.items()}


def ratio(runs: int) -> float:
    """The CPU time of the server by that of importing the types of the protocol."""
    found = starts(runs)
    return found[SERVE].cpu / found[IMPORT].cpu


def _median(costs: Sequence[Start]) -> Start:
    return Start(*(statistics.median(column) for column in zip(*costs, strict=True)))


def _cost(
    arguments: Sequence[str], until: Callable[[subprocess.Popen[bytes]], None]
) -> Start:
    """What a Python costs from its start until it did something."""
    environment = {**os.environ}
    # Else every start compiles what others read from `__pycache__`.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    until(process)
    wall = time.perf_counter() - began
    memory = _most_resident(process.pid)
    # Not `Popen.kill`, which may take the exit status and with it the usage.
    os.kill(process.pid, signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Start(wall, usage.ru_utime + usage.ru_stime, memory)


def _most_resident(process: int) -> float:
    """In MiB; 0 where the system does not say, or once the process has ended.

    Not what `wait4` says: that counts the parent, as which the process began.
    """
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().split("\n") if status.exists() else []
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(found[0]) / 1024 if found else 0


def _wait(process: subprocess.Popen[bytes]) -> None:
    _pipe(process.stdout).read()


def _initialize(process: subprocess.Popen[bytes]) -> None:
    client = {"textDocument": {"hover": {"contentFormat": ["markdown"]}}}
    params = {"processId": None, "rootUri": None, "capabilities": client}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    body = json.dumps(message).encode()
    stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
    stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stdin.flush()
    length = 0
    while line := stdout.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    assert b"capabilities" in stdout.read(length)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
