"""How long the server takes from the start of its process to its first answer.

Beside it, in turns, a Python that does nothing and one that only imports the types of
the protocol, without which no server of pygls answers. Wall and CPU time are medians;
the last column is the ratio to the import, which a busy machine does not change.

    python -m benchmarks.server_start [--runs 15]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple

SERVE = ("-m", "fxls", "serve")
IMPORT = ("-c", "import lsprotocol.types")
NOTHING = ("-c", "")


class Cost(NamedTuple):
    wall: float
    cpu: float
    memory: float
    """The most that was resident, in MiB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs: int = parser.parse_args().runs
    programs = {
        "python": (NOTHING, _wait),
        "import lsprotocol.types": (IMPORT, _wait),
        "fxls serve to initialize": (SERVE, _initialize),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for run in range(runs + 1):
        for name, (arguments, until) in programs.items():
            cost = _cost(arguments, until)
            # The first run fills the caches.
            if run:
                costs[name].append(cost)
    medians = {name: _median(found) for name, found in costs.items()}
    base = medians["import lsprotocol.types"]
    print(f"{'':28}{'wall ms':>9}{'cpu ms':>9}{'MiB':>7}{'wall x':>8}{'cpu x':>8}")
    for name, cost in medians.items():
        print(
            f"{name:28}{cost.wall * 1e3:9.0f}{cost.cpu * 1e3:9.0f}{cost.memory:7.0f}"
            f"{cost.wall / base.wall:8.2f}{cost.cpu / base.cpu:8.2f}"
        )


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def _cost(
    arguments: Sequence[str], until: Callable[[subprocess.Popen[bytes]], None]
) -> Cost:
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
    # Not `Popen.kill`, which may take the exit status and with it the usage.
    os.kill(process.pid, signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


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


if __name__ == "__main__":
    main()
