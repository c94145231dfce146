"""How quickly the server answers, in listings of a thousand and of many more nodes.

Each time is that from a request on its pipe to the answer, by a process of its own. The
first is what the machine takes for a request that asks for nothing.
"""

from __future__ import annotations

import ast
import itertools
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.server_client import Answers, Client, Json, of
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

__all__ = ["Answers", "Memory", "Share", "answers"]
SOURCE = "import torch\n\n\nclass Net:\n    def forward(self, x):\n        return x\n"


LONG_SOURCE = "import torch\n\n# fxls: Net0()(torch.ones(3))\n" + "".join(
    f"class Net{number}(torch.nn.Module):\n"
    "    def __init__(self, width=3):\n        super().__init__()\n"
    "    def forward(self, x, scale: float = 1.0):\n"
    + "".join(
        f"        x = torch.relu(x + {line}) * scale  # {line}\n" for line in range(38)
    )
    + "        return x\n"
    for number in range(100)
)
"""4,300 lines."""

_SERVERS = 5
"""So many are asked for what each does once."""


class Memory(NamedTuple):
    """What is resident before and after a long time of work, in MiB."""

    what: str
    before: float
    after: float


class Share(NamedTuple):
    """How many times as long as something else the CPU time of an answer is."""

    what: str
    times: float
    bound: float


def answers(nodes: int, saves: int) -> Iterator[Answers | Memory | Share]:
    """In a listing of 1,000 and one of `nodes` nodes; then save a model `saves` times."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "pyproject.toml").touch()
        (project / "net.py").write_text(SOURCE)
        store = Store(project / ".fxls")
        for number in range(1000):
            identity = Identity(f"models.m{number}", f"Model{number}")
            store.materialize(_listing(project, 3, identity))
        yield _first_lenses(project, "1,000 listings", 0.3)
        yield from _later_answers(project)
        paths = [store.materialize(_listing(project, n)) for n in (1000, nodes)]
        yield _first_lenses(project, f"these and one of {nodes:,} nodes", 0.5)
        yield from _requests(project, paths[0], paths[1], nodes)
    with tempfile.TemporaryDirectory() as folder:
        yield from _first_readings(Path(folder), nodes)
    with tempfile.TemporaryDirectory() as folder:
        yield from _openings(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _keys(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _saves(Path(folder), saves)


def _first_lenses(project: Path, listings: str, bound: float) -> Answers:
    """What an editor waits for that opens a source with many listings, or a long one."""
    path = project / "net.py"

    def first(client: Client) -> Answers:
        client.open(path)
        ask = partial(client.request, "textDocument/codeLens", of(path))
        return client.each(f"first lenses of a source, {listings}", bound, [ask])

    return _of_servers(project, first)


def _later_answers(project: Path) -> Iterator[Answers]:
    """What is asked of such a source with each key, when its listings were read."""
    path = project / "net.py"
    client = Client(project)
    try:
        client.open(path)
        start, end = {"line": 0, "character": 0}, {"line": 5, "character": 0}
        lines = {**of(path), "range": {"start": start, "end": end}}
        lenses = partial(client.request, "textDocument/codeLens", of(path))
        hints = partial(client.request, "textDocument/inlayHint", lines)
        lenses()
        for what, ask in (("lenses", lenses), ("hints", hints)):
            yield client.each(f"{what} again, 1,000 listings", 0.1, [ask] * 20)
    finally:
        client.end()


def _of_servers(
    project: Path,
    first: Callable[[Client], Answers],
    beside: Callable[[], object] = lambda: None,
) -> Answers:
    """The times of what a server does once, by several servers, with `beside` in turns."""
    found: list[Answers] = []
    for _ in range(_SERVERS):
        beside()
        client = Client(project)
        try:
            found.append(first(client))
        finally:
            client.end()
    times = [time for one in found for time in one.times]
    return found[0]._replace(
        times=times, cpu=statistics.median(one.cpu for one in found)
    )


def _requests(
    project: Path, small: Path, large: Path, many: int
) -> Iterator[Answers | Memory]:
    client = Client(project)
    try:
        nowhere = project / "no.py"
        yield client.each(
            "a request for nothing",
            math.inf,
            (partial(client.ask, "hover", nowhere, 1) for _ in range(200)),
        )
        yield client.each("hover, 1,000 nodes", 0.005, _hovers(client, small, 1000))

        def open_and_hover() -> None:
            client.open(large)
            client.ask("hover", large, 5)

        large_one = f"{many:,} nodes"
        yield client.each(f"open and first hover, {large_one}", 1, [open_and_hover])
        yield client.each(f"hover, {large_one}", 0.015, _hovers(client, large, many))
        lines = random.Random(0).choices(range(many), k=200)
        yield client.each(
            f"inlay hints of a screen, {large_one}",
            0.010,
            (partial(client.hints, large, line) for line in lines),
        )
        yield client.each(
            f"definition, {large_one}",
            0.015,
            (partial(client.ask, "definition", large, line) for line in lines),
        )
        client.symbols("")
        yield client.each(
            "workspace symbols, 1,000 listings",
            0.100,
            (partial(client.symbols, f"model{n}") for n in range(30)),
        )
        yield from _whole_graphs(client, large, large_one, small)
        before = client.memory()
        for _ in range(8_000):
            client.ask("hover", project / "no.py", 1)
        for line in itertools.islice(itertools.cycle(lines), 2_000):
            client.ask("hover", small, line % 1000)
        yield Memory("10,000 requests", before, client.memory())
    finally:
        client.end()


def _whole_graphs(
    client: Client, large: Path, name: str, small: Path
) -> Iterator[Answers]:
    """What editors and the extension ask of all that there is, and hovers elsewhere
    while an answer with something for each node is made.
    """
    call = partial(client.request, "fxls/identities", {})
    yield client.each("list of what the store holds, 1,000 listings", 0.1, [call] * 5)
    uri = {"uri": large.as_uri()}
    window = {**uri, "sort": "bytes", "descending": True, "count": 100}
    like = {**uri, "like": uri["uri"]}
    asked: list[tuple[str, float, str, Json]] = [
        ("window of the sorted table", 0.25, "fxls/table", window),
        ("whole graph for its picture", 2, "fxls/graph", uri),
        ("text for a comparison", 1, "fxls/normalized", like),
        ("outline", 3, "textDocument/documentSymbol", of(large)),
        ("colours", 1, "textDocument/semanticTokens/full", of(large)),
    ]
    for what, bound, method, params in asked:
        call = partial(client.request, method, params)
        yield client.each(f"{what}, {name}", bound, [call] * 5)
        # A window that was sorted once is there at once: another column.
        meanwhile = {**params, "sort": "shape"} if "sort" in params else params
        times = client.meanwhile(method, meanwhile, partial(_hover, client, small))
        during = f"hover elsewhere during the {what.removeprefix('whole ')}, {name}"
        yield Answers(during, times, 0.05, math.nan)


def _hover(client: Client, path: Path) -> int:
    at = {"line": 5, "character": 6}
    return client.send("textDocument/hover", {**of(path), "position": at})


def _first_readings(project: Path, nodes: int) -> Iterator[Answers]:
    """Hovers elsewhere while a long listing is read that nobody asked for before."""
    (project / "pyproject.toml").touch()
    source = project / "net.py"
    source.write_text(SOURCE)
    store = Store(project / ".fxls")
    small = store.materialize(_listing(project, 1000, Identity("models.m", "Model")))
    large = store.materialize(_listing(project, nodes))
    at = {"position": {"line": 5, "character": 6}}
    asked: list[tuple[str, Path | None, str, Json]] = [
        ("as it is opened", large, "textDocument/hover", {**of(large), **at}),
        ("for the lenses of its source", source, "textDocument/codeLens", of(source)),
        ("for its table", None, "fxls/table", {"uri": large.as_uri(), "count": 50}),
    ]
    for what, opened, method, params in asked:
        times: list[float] = []
        for _ in range(_SERVERS):
            client = Client(project)
            try:
                client.open(small)
                client.ask("hover", small, 5)
                if opened is not None:
                    client.open(opened)
                hover = partial(_hover, client, small)
                times += client.meanwhile(method, params, hover, has_short_answer=True)
            finally:
                client.end()
        first = f"hover elsewhere while a listing of {nodes:,} nodes is read first,"
        yield Answers(f"{first} {what}", times, 0.05, math.nan)


def _openings(project: Path) -> Iterator[Answers | Share]:
    """That a long source is opened, and what another one waits for meanwhile."""
    (project / "pyproject.toml").touch()
    other = project / "net.py"
    other.write_text(SOURCE)
    for size in (1, 5):
        text = LONG_SOURCE + "".join(
            LONG_SOURCE.replace("class Net", f"class N{number}_")
            for number in range(1, round(size * 1e6 / len(LONG_SOURCE)))
        )
        path, again = project / f"long{size}.py", project / f"again{size}.py"
        path.write_text(text, "utf-8")
        renamed = text.replace("class N", "class M").replace("fxls: N", "fxls: M")
        again.write_text(renamed, "utf-8")

        def opened(client: Client, size: int = size, path: Path = path) -> Answers:
            client.request("workspace/symbol", {"query": "none"})

            def open_and_ask() -> None:
                client.open(path)
                client.request("textDocument/codeLens", of(path))

            what = f"open a source of {size} MB"
            return client.each(what, 0.3 * size, [open_and_ask])

        parsed: list[float] = []

        def parse(text: str = text, parsed: list[float] = parsed) -> None:
            began = time.process_time()
            for piece in text.split("\nclass ")[1:]:
                ast.parse(f"class {piece}")
            parsed.append(time.process_time() - began)

        found = _of_servers(project, opened, parse)
        yield found
        times = found.cpu / statistics.median(parsed)
        yield Share("its CPU time by that of Python's parser, in pieces", times, 1.5)
        client = Client(project)
        try:
            client.open(other)
            client.request("textDocument/codeLens", of(other))
            client.open(again)
            ask = partial(_hover, client, other)
            times = client.meanwhile("textDocument/codeLens", of(again), ask)
            what = f"hover elsewhere while a source of {size} MB is opened"
            yield Answers(what, times, 0.05, math.nan)
        finally:
            client.end()


def _keys(project: Path) -> Iterator[Answers]:
    """A key in a long source that has no listing yet, and what an editor then asks."""
    (project / "pyproject.toml").touch()
    path = project / "long.py"
    path.write_text(LONG_SOURCE, "utf-8")
    client = Client(project)
    try:
        client.open(path)
        client.request("textDocument/codeLens", of(path))
        versions = itertools.count(2)
        before = LONG_SOURCE[: LONG_SOURCE.index("return", len(LONG_SOURCE) // 2)]
        line, column = before.count("\n"), len(before) - before.rindex("\n") - 1
        client.changed(path, next(versions), line, column, column, "1;")

        def key() -> None:
            version = next(versions)
            client.changed(path, version, line, column, column + 1, f"{version % 10}")
            client.hints(path, line)
            client.request("textDocument/codeLens", of(path))

        lines = LONG_SOURCE.count("\n")
        what = f"a key with its hints and lenses, a source of {lines:,} lines"
        yield client.each(what, 0.010, [key] * 30)
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
    client = Client(project, {"trusted": True})
    try:
        client.open(path)
        client.traced()
        before = client.memory()

        def save(number: int) -> None:
            path.write_text(f"{text}\n# {number}\n")
            client.saved(path)
            client.traced()

        computed = client.all_cpu()
        saved = client.each(
            "save to listing, a ResNet of 16 blocks",
            0.700,
            (partial(save, number) for number in range(count)),
        )
        yield saved._replace(cpu=(client.all_cpu() - computed) / count)
        yield Memory(f"{count:,} traces of it", before, client.memory())
    finally:
        client.end()


def _hovers(client: Client, path: Path, nodes: int) -> Iterator[Callable[[], Json]]:
    for line in random.Random(0).choices(range(nodes), k=1000):
        yield partial(client.ask, "hover", path, line + 4)


def _listing(
    project: Path,
    count: int,
    identity: Identity = Identity("net", "Net"),  # noqa: B008  # a value
) -> Listing:
    """A chain of functions in a tree of modules, each node with an origin."""
    few = min(count, 200)
    frames = tuple(Frame(0, "Net.forward", 5, 8, 5, 16, None) for _ in range(few))
    scopes = tuple(
        Scope(f"layers.{n}", "net.Layer", None) for n in range(min(count // 16 + 1, 64))
    )
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
                scope=node // 16 % len(scopes),
                origin=node % len(frames),
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
        frames=frames,
        scopes=scopes,
    )
