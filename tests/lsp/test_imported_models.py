"""An entry whose model is imported is as good as one of a class in the file."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

ZOO = """\
import torch


class Stem(torch.nn.Module):
    def forward(self, x):
        widened = x.repeat(1, 2)
        return torch.relu(widened)


class Zoo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Stem()

    def forward(self, x):
        y = self.stem(x)
        return y + 1


def zoo18():
    return Zoo()
"""

ENTRY = "zoo18()(torch.ones(2, 3))"

TRAIN = f"""\
import sys

sys.path.append("FOLDER")
import torch
from zoo import zoo18

# fxls: {ENTRY}
class Zoo(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return x
"""


@pytest.fixture(params=["installed", "own"])
def files(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The file of the entry, and that of the model."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    is_own = request.param == "own"
    folder = project / "models" if is_own else tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "zoo.py").write_text(ZOO)
    train = project / "train.py"
    train.write_text(TRAIN.replace("FOLDER", str(folder)))
    return train, folder / "zoo.py"


@pytest.fixture
def client(files: tuple[Path, Path]) -> Generator[LspClient]:
    with started() as client:
        client.initialize(files[0].parent)
        yield client
        client.unread()
        client.end()


def lenses(client: LspClient, path: Path, *lines: int) -> list[tuple[str, Json]]:
    asked = {"textDocument": {"uri": path.as_uri()}}
    found = client.request("textDocument/codeLens", asked)
    return [
        (one["command"]["title"], one["command"].get("arguments"))
        for one in found
        if one["range"]["start"]["line"] in lines
    ]


def test_it_has_the_lenses_of_a_class_of_the_file(
    client: LspClient, files: tuple[Path, Path]
) -> None:
    train, _ = files
    client.open(train)
    client.command("fxls.trace", train.as_uri())
    found = dict(lenses(client, train, 6, 7))
    assert [*found] == [
        *("Trace", "Show generated code", "Debug generated code", "Table (5 nodes)"),
        "Write an example call to trace",
    ], "nothing of the other class of that name"


def test_the_code_of_the_model_has_shapes(
    client: LspClient, files: tuple[Path, Path]
) -> None:
    train, zoo = files
    client.open(train)
    client.command("fxls.trace", train.as_uri())
    client.open(zoo)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    asked = {"textDocument": {"uri": zoo.as_uri()}, "range": whole}
    found = client.request("textDocument/inlayHint", asked)
    assert sorted((one["position"]["line"], one["label"]) for one in found) == [
        (5, ": f32[2, 6]"),
        (6, ": f32[2, 6]"),
        (15, ": f32[2, 6]"),
        (16, ": f32[2, 6]"),
    ]


def test_it_is_stale_when_the_file_of_the_entry_changes_and_traced_from_there(
    client: LspClient, files: tuple[Path, Path]
) -> None:
    train, _ = files
    client.open(train)
    (item,) = client.command("fxls.trace", train.as_uri())
    listing = Path(item["path"])
    client.open(listing)
    assert "stale: trace again" not in dict(lenses(client, listing, *range(99)))
    train.write_text(train.read_text() + "\nlearning_rate = 1\n")
    found = dict(lenses(client, listing, *range(99)))
    assert found["stale: trace again"] == [train.as_uri(), ENTRY]


def test_who_waits_for_it_sees_progress(files: tuple[Path, Path]) -> None:
    train, zoo = files
    go_on = train.parent / "go on"
    wait = (
        f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
    )
    zoo.write_text(ZOO + wait)
    with started() as client:
        client.initialize(train.parent, capabilities=EDITOR)
        client.open(train)
        asked = client.send(
            "workspace/executeCommand",
            {"command": "fxls.trace", "arguments": [train.as_uri()]},
        )
        assert client.notification("experimental/serverStatus") == {
            "health": "ok",
            "quiescent": False,
        }
        client.reply("window/workDoneProgress/create")
        begin = client.notification("$/progress")["value"]
        os.close(os.open(go_on, os.O_CREAT))
        client.answer(asked)
        client.unread()
        client.end()
    assert (begin["title"], begin["message"]) == ("Tracing", ENTRY)
