"""An entry whose model is imported is as good as one of a class in the file."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR, spot

Json = Any

pytestmark = pytest.mark.slow

ZOO = """\
import torch


class Stem(torch.nn.Module):
    def forward(self, x):
        widened = x.repeat(1, 2)
        return torch.relu(widened)


class Zoo(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = Stem()

    def forward(self, cells):
        y = self.stem(cells)
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


EDITING: Json = {
    **EDITOR,
    "workspace": {
        **EDITOR["workspace"],
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
    },
}

MODEL = """\
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, 2)

    def forward(self, signal: torch.Tensor):
        hidden = self.linear(signal)
        return hidden
"""

OWN = """\
import torch
from zoo.models import Model

# fxls: Model(width=8)(torch.randn(1, 8))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A model in a package that a project's environment has."""
    (tmp_path / "project").mkdir()
    path = tmp_path / "lib" / "site-packages" / "zoo" / "models.py"
    path.parent.mkdir(parents=True)
    path.write_text(MODEL)
    return path


def written(client: LspClient, path: Path) -> int:
    """Ask for what the one lens of a file offers; returns the request."""
    client.open(path)
    ((title, _),) = lenses(client, path, 3)
    assert title == "Write an example call to trace"
    command = {"command": "fxls.writeEntry", "arguments": [path.as_uri(), "Model"]}
    return client.send("workspace/executeCommand", command)


def test_the_example_call_of_an_installed_class_is_in_a_new_file_that_shows_it(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed.parents[3] / "project"
    own = project / "try_Model.py"
    monkeypatch.setenv("PYTHONPATH", str(installed.parents[1]))
    with started() as client:
        client.initialize(project, {"trusted": True}, EDITING)
        asked = written(client, installed)
        edit = client.reply("workspace/applyEdit", {"applied": True})["edit"]
        own.write_text(OWN)
        first = client.reply("window/showDocument", {"success": True})
        done = client.answer(asked)["result"]
        # Whoever asks again is led to it.
        again = client.send(
            "workspace/executeCommand",
            {
                "command": "fxls.writeEntry",
                "arguments": [installed.as_uri(), "Model"],
            },
        )
        second = client.reply("window/showDocument", {"success": True})
        done_again = client.answer(again)["result"]
        (item,) = client.command("fxls.trace", own.as_uri())
        whole = {
            "start": {"line": 0, "character": 0},
            "end": {"line": 99, "character": 0},
        }
        hints = client.request(
            "textDocument/inlayHint",
            {"textDocument": {"uri": installed.as_uri()}, "range": whole},
        )
        client.unread()
        client.end()

    create, change = edit["documentChanges"]
    assert create == {"kind": "create", "uri": own.as_uri()}
    assert [one["newText"] for one in change["edits"]] == [OWN]
    assert change["textDocument"]["uri"] == own.as_uri()
    assert first == {
        "uri": own.as_uri(),
        "takeFocus": True,
        "selection": spot(3, 20, 21),
    }
    assert (second["uri"], done, done_again) == (own.as_uri(), True, False)
    assert "uri" in item
    assert [(one["position"]["line"], one["label"]) for one in hints] == [
        (9, ": f32[1, 2]")
    ]
    assert installed.read_text() == MODEL


def test_an_editor_that_makes_no_files_is_told_what_to_write(installed: Path) -> None:
    project = installed.parents[3] / "project"
    with started() as client:
        client.initialize(project, {}, EDITOR)
        asked = written(client, installed)
        said = client.notification("window/showMessage")["message"]
        done = client.answer(asked)["result"]
        client.end()

    head = "fxls: Model is installed. To trace it, write in a file of yours:"
    assert said == f"{head}\n{OWN.rstrip()}"
    assert done is False
