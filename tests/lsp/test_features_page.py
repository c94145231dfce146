"""The pictures of docs/features.md are what a real server answers.

``FXLS_UPDATE=1 pytest tests/lsp/test_features_page.py`` writes them.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from fxls.listing import Tensor
from fxls.store import Store
from tests.support.listings import listing_of
from tests.support.lsp_client import PATIENCE, LspClient, started
from tests.support.projects import EDITOR
from tests.support.screen import Screen, of, shortened

Json = Any

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "features.md"

PICTURE = re.compile(r"^\*\*(.*?)\*\*(.*?)^```text\n(.*?)^```$", re.M | re.S)

TORCHS_LINE = re.compile(r"(?<=conv\.py:)\d+(?P<of_the_class>(?=  Conv2d))?")
"""A line of torch's own file, which another torch has elsewhere."""

HEAD = """\
import torch


class Head(torch.nn.Module):
    def __init__(self, width: int, num_classes: int):
        super().__init__()
        self.out = torch.nn.Linear(width, num_classes)

    def forward(self, x):
        return self.out(x)
"""

GATE = """\
import torch


def gate(x):
    return x if x.sum() > 0 else -x


class Gate(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return gate(x) * self.scale


# fxls: Net()(torch.randn(2))
class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate(2)

    def forward(self, row):
        return self.gate(row) + 1
"""

NOTES = """\
import torch


# fxls: Nte(3)(torch.randn(1, 8))
class Net(torch.nn.Module):
    def __init__(self, hidden: int, layers: list[int]):
        super().__init__()

    def forward(self, x):
        return x


#
"""

DEFECTS = """\
import torch

def forward(self, x, y):
    relu = torch.relu(y)
    mul = torch.mul(x, 2);  x = None
    add = torch.add(mul, x);  mul = None
    matmul = torch.matmul(add, y);  add = None
    return matmul
"""

BLOCK = """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        return x.relu()
"""

NET = """\
import torch
from block import Block


# fxls: Net()(torch.randn(2, 3))
class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x) + 1
"""


BEFORE = """\
import torch

def forward(self, x):
    relu = torch.relu(x);  x = None
    add = relu + 1;  relu = None
    relu_1 = torch.relu(add);  add = None
    return relu_1
"""

AFTER = """\
import torch

def forward(self, x):
    relu = torch.relu(x);  x = None
    relu_1 = torch.relu(relu);  relu = None
    add = relu_1 + 1;  relu_1 = None
    relu_2 = torch.relu(add);  add = None
    return relu_2
"""


class Pictures:
    """Makes the pictures; each method named as its feature, in the order of the page."""

    def __init__(self, client: LspClient, root: Path, answered: Json) -> None:
        self.client, self.root = client, root
        self.screen = Screen(client, root)
        self.legend = answered["semanticTokensProvider"]["legend"]
        self.source = root / "resnet.py"
        (item,) = client.command("fxls.trace", self.source.as_uri())
        self.listing = Path(item["path"])

    def hover_on_a_node(self) -> Iterator[str]:
        yield from self.screen.hover(
            self.listing, "stage2_0_conv1 = ", "stage2_0_conv1"
        )

    def hover_on_def_forward(self) -> Iterator[str]:
        card = self.screen.hover(self.listing, "def forward", "forward")
        # The columns are as wide as a window; a page is not.
        yield from (re.sub(" {3,}", "   ", line) for line in (*card[:6], card[-1]))

    def definition_and_implementation(self) -> Iterator[str]:
        line, word = "relu_3 = ", "relu_3"
        screen, listing = self.screen, self.listing
        number, _ = screen.spot(listing, "stage2_0_conv1 = ", "relu_3")
        yield f"on a use    {screen.line(listing, number).strip()}"
        used = screen.jumps("definition", listing, "stage2_0_conv1 = ", "relu_3")
        yield from (f"            → {one}" for one in used)
        bound = screen.jumps("definition", listing, line, word)
        yield from (f"from there  → {one}" for one in bound)
        every = screen.jumps("implementation", listing, line, word)
        yield "every frame"
        yield from (f"            → {one}" for one in every)

    def declaration_and_type_definition(self) -> Iterator[str]:
        for method in ("declaration", "typeDefinition"):
            number, column = self.screen.spot(self.listing, "stem_0 = ", "stem_0")
            (found,) = self.client.ask(method, self.listing, number, column)
            uri, span = (
                found.get("targetUri", found.get("uri")),
                found.get("targetSelectionRange", found.get("range")),
            )
            yield f"{method:15}→ {self.screen.place(uri, span)}"

    def references_and_highlights(self) -> Iterator[str]:
        yield from self.screen.highlighted(
            self.listing, "stage2_0_norm1 = ", "stage2_0_norm1"
        )

    def outline(self) -> Iterator[str]:
        asked = of(self.listing)
        (forward,) = self.client.request("textDocument/documentSymbol", asked)
        (stage,) = (c for c in forward["children"] if c["name"].startswith("stage2"))
        yield forward["name"]
        yield from drawn_below(stage, 1, 5)
        folds = self.client.request("textDocument/foldingRange", asked)
        first = stage["range"]["start"]["line"]
        outer = [fold for fold in folds if fold["startLine"] == first]
        fold = max(outer, key=lambda fold: fold["endLine"])
        yield f"folded: {fold['collapsedText']}, {fold['endLine'] - first + 1} lines"

    def colours(self) -> Iterator[str]:
        yield from self.screen.coloured(self.listing, "relu = ", 1, self.legend)
        yield from self.screen.coloured(self.listing, "stem_0 = ", 1, self.legend)

    def inlay_hints_in_a_listing(self) -> Iterator[str]:
        yield from self.screen.inlaid(self.listing, "stem_0 = ", 3)

    def inline_values(self) -> Iterator[str]:
        number, _ = self.screen.spot(self.listing, "stem_1 = ", "stem_1")
        at = {"line": number, "character": 4}
        spot = {"start": at, "end": at}
        found = self.client.request(
            "textDocument/inlineValue",
            {
                **of(self.listing),
                "range": {"start": {"line": number - 1, "character": 0}, "end": at},
                "context": {"frameId": 1, "stoppedLocation": spot},
            },
        )
        for one in found:
            line = self.screen.line(self.listing, one["range"]["start"]["line"])
            yield f"{line.strip()}     ⟦{one['variableName']} = …⟧"
        stopped = self.screen.line(self.listing, number).strip()
        yield f"{stopped}     ← stopped here"

    def code_lenses_in_a_listing(self) -> Iterator[str]:
        yield from self.screen.lenses(self.listing, "def forward")

    def call_hierarchy(self) -> Iterator[str]:
        number, column = self.screen.spot(self.listing, "relu_1 = ", "relu_1")
        (item,) = self.client.ask("prepareCallHierarchy", self.listing, number, column)
        incoming = self.client.request("callHierarchy/incomingCalls", {"item": item})
        outgoing = self.client.request("callHierarchy/outgoingCalls", {"item": item})
        yield f"{item['name']}   {item['detail']}"
        yield f"  read by: {', '.join(call['from']['name'] for call in incoming)}"
        yield f"  reads:   {', '.join(call['to']['name'] for call in outgoing)}"

    def growing_selections(self) -> Iterator[str]:
        yield from self.screen.selected(self.listing, "relu_4 = ", "stage2_0_norm1")

    def workspace_symbols(self) -> Iterator[str]:
        for query in ("rn18f", "stage4_1norm2"):
            found = self.client.request("workspace/symbol", {"query": query})
            yield f"{query}   →   {found[0]['name']}   {found[0]['containerName']}"

    def links(self) -> Iterator[str]:
        (link,) = self.client.request("textDocument/documentLink", of(self.listing))
        head = self.screen.line(self.listing, 0)
        start, end = (link["range"][side]["character"] for side in ("start", "end"))
        yield f"{head[:start]}⟦{head[start:end]}⟧{head[end:]}"
        target = link["target"].rpartition("/")[2]
        yield f"  {link['tooltip']}: {target}"

    def defects_of_the_graph(self) -> Iterator[str]:
        made = listing_of(
            DEFECTS,
            values={
                "add": Tensor((2, 3), "torch.float32", "cpu"),
                "y": Tensor((3, 4), "torch.float32", "cpu"),
                "matmul": Tensor((2, 3), "torch.float32", "cpu"),
            },
        )
        call = {"relu": "torch.relu", "matmul": "torch.matmul"}
        nodes = [replace(f, target=call.get(f.name, f.target)) for f in made.nodes]
        path = Store(self.root / ".fxls").materialize(replace(made, nodes=tuple(nodes)))
        self.client.open(path)
        said = self.client.diagnostics(path)
        yield from self.screen.marked(path, said)

    def age(self) -> Iterator[str]:
        self.client.open(self.listing)
        text = self.source.read_text("utf-8")
        self.source.write_text(f"{text}\n# edited\n", "utf-8")
        self.client.open(self.source)
        self.client.notify("textDocument/didSave", of(self.source))
        yield from self.screen.marked(
            self.listing, self.client.diagnostics(self.listing)
        )
        yield from self.screen.lenses(self.listing, "def forward")
        self.source.write_text(text, "utf-8")
        self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.source.as_uri(), "version": 2},
                "contentChanges": [{"text": text}],
            },
        )
        self.client.notify("textDocument/didSave", of(self.source))
        assert self.client.diagnostics(self.listing) == []

    def hover_and_implementation(self) -> Iterator[str]:
        line, word = "out = F.relu", "self.conv1"
        yield from self.screen.hover(self.source, line, word)[:3]
        leads = self.screen.jumps("implementation", self.source, line, word)
        yield from (f"→ {one}" for one in leads[:2])

    def inlay_hints_in_a_source(self) -> Iterator[str]:
        yield from self.screen.inlaid(self.source, "x = self.stem(images)", 6)
        yield from self.screen.inlaid(self.source, "return F.relu(out", 1)

    def code_lenses_in_a_source(self) -> Iterator[str]:
        yield from self.screen.lenses(self.source, "# fxls:")
        yield ""
        yield from self.screen.lenses(self.source, "class BasicBlock")
        yield ""
        path = self.root / "head.py"
        path.write_text(HEAD)
        yield from self.screen.lenses(path, "class Head")
        arguments = [path.as_uri(), "Head"]
        asked = {"command": "fxls.writeEntry", "arguments": arguments}
        self.client.send("workspace/executeCommand", asked)
        edit = self.client.reply("workspace/applyEdit", {"applied": False})
        ((change,),) = edit["edit"]["changes"].values()
        yield f"⟦{change['newText'].strip()}⟧"

    def diagnostics_and_repairs(self) -> Iterator[str]:
        path = self.root / "gate.py"
        path.write_text(GATE)
        self.client.open(path)
        self.client.command("fxls.trace", path.as_uri())
        (said,) = self.client.diagnostics(path)
        yield from self.screen.marked(path, [said])
        context = {"diagnostics": [said]}
        asked = {**of(path), "range": said["range"], "context": context}
        for action in self.client.request("textDocument/codeAction", asked):
            yield f"⟦fix⟧ {action['title']}"

    def entry_comments(self) -> Iterator[str]:
        path = self.root / "notes.py"
        path.write_text(NOTES)
        self.client.open(path)
        yield from self.screen.marked(path, self.client.diagnostics(path))
        last = len(NOTES.split("\n")) - 2
        for item in self.client.ask("completion", path, last, 1):
            yield f"#⟦{item['textEdit']['newText'].removeprefix('#')}⟧   {item['detail']}"

    def virtual_documents(self) -> Iterator[str]:
        (item,) = self.client.request("fxls/listings", of(self.source))
        for name in ("forward.py", "table.txt", "revisions.txt"):
            uri = item["document"].replace("forward.py", name)
            yield uri
            asked = {"uri": uri}
            text = self.client.request("workspace/textDocumentContent", asked)["text"]
            yield from (f"    {line}" for line in text.split("\n")[:4])

    def pictures_and_tables(self) -> Iterator[str]:
        asked = {"uri": self.listing.as_uri()}
        graph = self.client.request("fxls/graph", asked)
        table = self.client.request(
            "fxls/table", {**asked, "sort": "bytes", "descending": True, "count": 2}
        )
        sizes = [len(graph[name]) for name in ("nodes", "scopes", "places")]
        yield "fxls/graph: {} nodes, {} calls of submodules, {} places".format(*sizes)
        yield "fxls/table, the largest first:"
        for row in table["rows"]:
            yield f"    {row['name']}  {row['target']}  {row['shape']}  {row['bytes']:,} bytes"

    def comparisons(self) -> Iterator[str]:
        before, after = (listing_of(body) for body in (BEFORE, AFTER))
        store = Store(self.root / ".fxls")
        old, new = (store.materialize(one).as_uri() for one in (before, after))
        left = self.client.request("fxls/normalized", {"uri": old})["text"].split("\n")
        asked = {"uri": new, "like": old}
        right = self.client.request("fxls/normalized", asked)["text"].split("\n")
        for line in right[3:-1]:
            yield f"{' ' if line in left else '+'} {line.strip()}"

    def progress(self) -> Iterator[str]:
        self.client.unread()
        # What is done before it can be shown has no progress.
        go_on, text = self.root / "go on", self.source.read_text("utf-8")
        wait = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
        self.source.write_text(wait + text, "utf-8")
        command = {"command": "fxls.trace", "arguments": [self.source.as_uri()]}
        request = self.client.send("workspace/executeCommand", command)
        self.client.reply("window/workDoneProgress/create")
        begin = self.client.notification("$/progress")
        go_on.touch()
        self.client.answer(request)
        end = self.client.notification("$/progress")
        running, quiet = (
            self.client.notification("experimental/serverStatus") for _ in "ab"
        )
        log = self.client.notification("window/logMessage")
        yield f"$/progress: {said(begin['value'])}"
        yield f"$/progress: {said(end['value'])}"
        yield f"experimental/serverStatus: {said(running)}, then {said(quiet)}"
        yield f"window/logMessage: {log['message'].replace(str(self.root), '…')}"

    def saving(self) -> Iterator[str]:
        (self.root / "net.py").write_text(NET)
        block = self.root / "block.py"
        block.write_text(BLOCK)
        self.client.command("fxls.trace", (self.root / "net.py").as_uri())
        self.client.open(block)
        self.client.unread()
        (item,) = self.client.command("fxls.trace", (self.root / "net.py").as_uri())
        block.write_text(BLOCK.replace("relu", "tanh"))
        self.client.notify("workspace/didChangeConfiguration", {"settings": None})
        self.client.reply("workspace/configuration", [{"trusted": True}])
        self.client.notify("textDocument/didSave", of(block))
        revised = self.client.notification("fxls/revised")
        old, new = (revised[side].rpartition("/")[2] for side in ("old", "new"))
        assert revised["old"] == item["uri"]
        yield "block.py saved"
        yield f"fxls/revised: {old} became {new}, lines {revised['lines']}"


def said(fields: Json) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def drawn_below(symbol: Json, depth: int, count: int) -> list[str]:
    """The first symbols of a tree, each indented."""
    detail = symbol.get("detail", "")
    out = [f"{'  ' * depth}{symbol['name']}   {detail}".rstrip()]
    for child in symbol.get("children", ()):
        if len(out) < count:
            out += drawn_below(child, depth + 1, count - len(out))
    return out


PLAIN = {
    **EDITOR,
    "textDocument": {
        **EDITOR["textDocument"],
        "hover": {"contentFormat": ["plaintext"]},
    },
}


@pytest.fixture
def pictures(tmp_path: Path) -> Generator[Pictures]:
    (tmp_path / "pyproject.toml").touch()
    shutil.copy(ROOT / "examples" / "resnet.py", tmp_path)
    with started() as client:
        yield Pictures(client, tmp_path, client.initialize(tmp_path, None, PLAIN))
        # Traces that nobody waits for may still tell of themselves.
        client.request("shutdown", None)
        client.notify("exit", None)
        client.process.wait(PATIENCE)


def as_installed(picture: str) -> str:
    """The picture with the lines that the installed torch has."""

    def line(match: re.Match[str]) -> str:
        of_the_class = match["of_the_class"] is not None
        thing = torch.nn.Conv2d if of_the_class else torch.nn.Conv2d.forward
        return str(inspect.getsourcelines(thing)[1])

    return TORCHS_LINE.sub(line, picture)


def test_the_page_shows_what_the_server_answers(pictures: Pictures) -> None:
    makers: list[Callable[[], Iterator[str]]] = [
        getattr(pictures, name)
        for name, member in vars(Pictures).items()
        if callable(member) and not name.startswith("_")
    ]
    made = ["\n".join([*shortened(maker()), ""]) for maker in makers]
    page = PAGE.read_text("utf-8")
    shown = [match[3] for match in PICTURE.finditer(page)]
    assert len(shown) == len(made), "one picture for each feature"
    if os.environ.get("FXLS_UPDATE"):
        fresh = iter(made)
        page = PICTURE.sub(
            lambda match: f"**{match[1]}**{match[2]}```text\n{next(fresh)}```", page
        )
        PAGE.write_text(page, "utf-8")
    else:
        assert [as_installed(picture) for picture in shown] == made
