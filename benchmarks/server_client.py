"""An editor that asks a server on its pipe, and clocks the answers."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

__all__ = ["Answers", "Client", "Json", "of"]

Json = Any


class Answers(NamedTuple):
    """The times of one kind of request, in seconds."""

    what: str
    times: list[float]
    bound: float
    """What one shall take of CPU time; where that is not known, what no more than one in
    a hundred shall take."""
    cpu: float
    """What was computed for each, which a busy machine changes less than the times."""


class Client:
    """A server in a process of its own; one request at a time."""

    def __init__(self, project: Path, options: Json = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fxls", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._ids = itertools.count(1)
        root = project.as_uri()
        params: Json = {"processId": None, "rootUri": root, "capabilities": {}}
        self.request("initialize", {**params, "initializationOptions": options})
        self._write({"method": "initialized", "params": {}})

    def open(self, path: Path) -> None:
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
        document = {**item, "text": path.read_text()}
        self._write(
            {"method": "textDocument/didOpen", "params": {"textDocument": document}}
        )

    def changed(
        self, path: Path, version: int, line: int, start: int, end: int, text: str
    ) -> None:
        """Say that a part of a line is another one."""
        document = {"uri": path.as_uri(), "version": version}
        ends = [{"line": line, "character": column} for column in (start, end)]
        span = {"start": ends[0], "end": ends[1]}
        params = {
            "textDocument": document,
            "contentChanges": [{"range": span, "text": text}],
        }
        self._write({"method": "textDocument/didChange", "params": params})

    def saved(self, path: Path) -> None:
        self._write({"method": "textDocument/didSave", "params": of(path)})

    def traced(self) -> None:
        """Wait until the log says that an entry was traced."""
        for message in self._messages():
            if message.get("method") == "window/logMessage":
                assert message["params"]["type"] == 3, message
                return

    def each(
        self, what: str, bound: float, requests: Iterable[Callable[[], object]]
    ) -> Answers:
        """The times of requests, one behind the other."""
        before = self._cpu()
        times: list[float] = []
        for request in requests:
            began = time.perf_counter()
            request()
            times.append(time.perf_counter() - began)
        return Answers(what, times, bound, (self._cpu() - before) / len(times))

    def ask(self, method: str, path: Path, line: int) -> Json:
        at = {"line": line, "character": 6}
        return self.request(f"textDocument/{method}", {**of(path), "position": at})

    def hints(self, path: Path, line: int) -> Json:
        """Those of the screen that begins at a line."""
        screen = {**of(path), "range": _screen(line)}
        return self.request("textDocument/inlayHint", screen)

    def symbols(self, query: str) -> Json:
        return self.request("workspace/symbol", {"query": query})

    def meanwhile(
        self,
        method: str,
        params: Json,
        ask: Callable[[], int],
        *,
        has_short_answer: bool = False,
    ) -> list[float]:
        """The times of requests that are asked until a longer one is answered."""
        times: list[float] = []
        long, is_answered = self.send(method, params), False
        while not is_answered:
            began = time.perf_counter()
            number = ask()
            for message in self._messages():
                is_answered |= message.get("id") == long
                if message.get("id") == number:
                    break
            # What the last one takes is to read a long answer.
            if has_short_answer or not is_answered:
                times.append(time.perf_counter() - began)
        return times

    def send(self, method: str, params: Json) -> int:
        number = next(self._ids)
        self._write({"id": number, "method": method, "params": params})
        return number

    def request(self, method: str, params: Json) -> Json:
        number = self.send(method, params)
        for message in self._messages():
            if message.get("id") == number:
                return message["result"]
        raise AssertionError("the server ended")

    def _cpu(self) -> float:
        """The seconds that the server's threads have run; 0 where nobody says."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    def all_cpu(self) -> float:
        """The same with its worker, and all that ran for that and has ended."""
        parents: dict[int, int] = {}
        ticks: dict[int, int] = {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            # What ends meanwhile has no file any more.
            with suppress(OSError):
                fields = file.read_text().rpartition(")")[2].split()
                process = int(file.parent.name)
                parents[process] = int(fields[1])
                ticks[process] = sum(map(int, fields[11:15]))
        found, below = 0, {self._process.pid}
        while below:
            found += sum(ticks.get(one, 0) for one in below)
            below = {one for one, parent in parents.items() if parent in below}
        return found / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """What is resident, in MiB; where the system does not say, the most that was."""
        status = Path(f"/proc/{self._process.pid}/status")
        if status.exists():
            line = next(x for x in status.read_text().split("\n") if "VmRSS" in x)
            return int(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024

    def end(self) -> None:
        self.request("shutdown", None)
        self._write({"method": "exit"})
        self._process.wait()

    def _write(self, message: Json) -> None:
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        stdin = _pipe(self._process.stdin)
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stdin.flush()

    def _messages(self) -> Iterator[Json]:
        stdout = _pipe(self._process.stdout)
        while True:
            length = 0
            while line := stdout.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            yield msgspec.json.decode(stdout.read(length))


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def of(path: Path) -> Json:
    return {"textDocument": {"uri": path.as_uri()}}


def _screen(line: int) -> Json:
    start, end = {"line": line, "character": 0}, {"line": line + 60, "character": 0}
    return {"start": start, "end": end}
