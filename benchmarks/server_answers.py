"""How quickly the server answers, in listings of a thousand and of many more nodes.

Each time is that from a request on its pipe to the answer, by a process of its own. The
first is what the machine takes for a request that asks for nothing.
"""

from __future__ import annotations

import itertools
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from fxls.listing import (
    Facts,
    Frame,
    Identity,
    Listing,
    Mark,
    Role,
    Scope,
    Source,
    Tensor,
    source_digest,
)
from fxls.store import Store

__all__ = ["Answers", "Memory", "answers"]

Json = Any

SOURCE = "import torch\n\n\nclass Net:\n    def forward(self, x):\n        return x\n"


class Answers(NamedTuple):
    """The times of one kind of request, in seconds."""

    what: str
    times: list[float]
    bound: float
    """What no more than one in a hundred shall take."""


class Memory(NamedTuple):
    """What is resident before and after a long time of work, in MiB."""

    what: str
    before: float
    after: float


def answers(nodes: int, saves: int) -> Iterator[Answers | Memory]:
    """In a listing of 1,000 and one of `nodes` nodes; then save a model `saves` times."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "pyproject.toml").touch()
        (project / "net.py").write_text(SOURCE)
        store = Store(project / ".fxls")
        paths = [store.materialize(_listing(project, n)) for n in (1000, nodes)]
        for number in range(1000):
            identity = Identity(f"models.m{number}", f"Model{number}")
            store.materialize(_listing(project, 3, identity))
        yield from _requests(project, paths[0], paths[1], nodes)
    with tempfile.TemporaryDirectory() as folder:
        yield from _saves(Path(folder), saves)


def _requests(
    project: Path, small: Path, large: Path, many: int
) -> Iterator[Answers | Memory]:
    client = _Client(project)
    try:
        nothing = [client.timed_at("hover", project / "no.py", 1) for _ in range(200)]
        yield Answers("a request for nothing", nothing, math.inf)
        yield Answers("hover, 1,000 nodes", _hovers(client, small, 1000, 1000), 0.005)
        began = time.perf_counter()
        client.open(large)
        client.ask("hover", large, 5)
        took = time.perf_counter() - began
        yield Answers(f"open and first hover, {many:,} nodes", [took], 1)
        hovers = _hovers(client, large, many, 1000)
        yield Answers(f"hover, {many:,} nodes", hovers, 0.015)
        lines = random.Random(0).choices(range(many), k=200)
        hints = [
            client.timed(
                "textDocument/inlayHint", {**_of(large), "range": _screen(line)}
            )
            for line in lines
        ]
        yield Answers(f"inlay hints of a screen, {many:,} nodes", hints, 0.010)
        definitions = [client.timed_at("definition", large, line) for line in lines]
        yield Answers(f"definition, {many:,} nodes", definitions, 0.015)
        client.request("workspace/symbol", {"query": ""})
        symbols = [
            client.timed("workspace/symbol", {"query": f"model{n}"}) for n in range(30)
        ]
        yield Answers("workspace symbols, 1,000 listings", symbols, 0.100)
        before = client.memory()
        for _ in range(8_000):
            client.ask("hover", project / "no.py", 1)
        for line in itertools.islice(itertools.cycle(lines), 2_000):
            client.ask("hover", small, line % 1000)
        yield Memory("10,000 requests", before, client.memory())
    finally:
        client.end()


def _saves(project: Path, count: int) -> Iterator[Answers | Memory]:
    """From the save of a model of a ResNet's size to its listing, by a warm worker."""
    (project / "pyproject.toml").touch()
    path = project / "resnet.py"
    text = (Path(__file__).parents[1] / "examples" / "resnet.py").read_text()
    # Four stages of 3, 4, 6 and 3 blocks, as in a ResNet-50.
    blocks = "*(BasicBlock(outputs, outputs) for _ in range(3))"
    text = text.replace("BasicBlock(outputs, outputs)", blocks)
    path.write_text(text)
    client = _Client(project, {"trusted": True})
    try:
        client.open(path)
        client.traced()
        seconds: list[float] = []
        before = client.memory()
        for number in range(count):
            path.write_text(f"{text}\n# {number}\n")
            began = time.perf_counter()
            client.saved(path)
            client.traced()
            seconds.append(time.perf_counter() - began)
        yield Answers("save to listing, a ResNet of 16 blocks", seconds, 0.700)
        yield Memory(f"{count:,} traces of it", before, client.memory())
    finally:
        client.end()


def _hovers(client: _Client, path: Path, nodes: int, count: int) -> list[float]:
    chosen = random.Random(0).choices(range(nodes), k=count)
    return [client.timed_at("hover", path, line + 4) for line in chosen]


def _of(path: Path) -> Json:
    return {"textDocument": {"uri": path.as_uri()}}


def _screen(line: int) -> Json:
    start, end = {"line": line, "character": 0}, {"line": line + 60, "character": 0}
    return {"start": start, "end": end}


def _listing(
    project: Path,
    count: int,
    identity: Identity = Identity("net", "Net"),  # noqa: B008  # a value
) -> Listing:
    """A chain of functions in a tree of modules, each node with an origin."""
    lines = ["import torch", "", "def forward(self, x):"]
    marks = [Mark(2, 18, 1, 0, Role.BINDS)]
    value = Tensor(
        (1, 64, 56, 56), "torch.float32", "cpu", (200704, 3136, 56, 1), 802816
    )
    nodes = [Facts("x", "placeholder", "x", 2, users=(1,), value=value)]
    name = "x"
    for node in range(1, count + 1):
        line, made = len(lines), f"relu_{node}"
        lines.append(f"    {made} = torch.relu({name});  {name} = None")
        read = 4 + len(made) + len(" = torch.relu(")
        marks += [
            Mark(line, 4, len(made), node, Role.BINDS),
            Mark(line, read, len(name), node - 1, Role.READS),
            Mark(line, read + len(name) + 4, len(name), node - 1, Role.FREES),
        ]
        nodes.append(
            Facts(
                made,
                "call_function",
                "torch.relu",
                line,
                args=((node - 1,),),
                users=(node + 1,),
                scope=node // 16 % 64,
                origin=node % 200,
                value=value,
            )
        )
        name = made
    lines.append(f"    return {name}")
    marks.append(Mark(len(lines) - 1, 11, len(name), count, Role.READS))
    nodes.append(Facts("output", "output", "output", len(lines) - 1, args=((count,),)))
    source = str(project / "net.py")
    return Listing(
        identity,
        "\n".join(lines) + "\n",
        2,
        tuple(marks),
        tuple(nodes),
        sources=(Source(source, source_digest(SOURCE.encode())),),
        frames=tuple(Frame(0, "Net.forward", 5, 8, 5, 16, None) for _ in range(200)),
        scopes=tuple(Scope(f"layers.{n}", "net.Layer", None) for n in range(64)),
    )


class _Client:
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

    def saved(self, path: Path) -> None:
        self._write({"method": "textDocument/didSave", "params": _of(path)})

    def traced(self) -> None:
        """Wait until the log says that an entry was traced."""
        for message in self._messages():
            if message.get("method") == "window/logMessage":
                assert message["params"]["type"] == 3, message
                return

    def timed(self, method: str, params: Json) -> float:
        return _seconds(lambda: self.request(method, params))

    def timed_at(self, method: str, path: Path, line: int) -> float:
        return _seconds(lambda: self.ask(method, path, line))

    def ask(self, method: str, path: Path, line: int) -> Json:
        at = {"line": line, "character": 6}
        return self.request(f"textDocument/{method}", {**_of(path), "position": at})

    def request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        self._write({"id": number, "method": method, "params": params})
        for message in self._messages():
            if message.get("id") == number:
                return message["result"]
        raise AssertionError("the server ended")

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


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
