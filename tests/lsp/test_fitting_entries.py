"""An example call that is written for a class runs, in a folder that may be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR, spot

pytestmark = pytest.mark.slow

Json = Any

PARTS = """\
import torch


class Twice(torch.nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.conv = torch.nn.Conv2d(inside, 8, 3)

    def forward(self, x):
        return self.conv(x)
"""

NET = """\
import torch
from parts import *


class Net(torch.nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.first = Twice(n_channels)

    def forward(self, x):
        return self.first(x)
"""

TRAINS = """\

for step in range(3):
    Net(3)(torch.randn(1, 3, 8, 8)).sum().backward()
"""

GUESS = "# fxls: Net(n_channels=3)(torch.randn(1, 8))\n"
FITS = "# fxls: Net(n_channels=3)(torch.randn(1, 3, 32, 32))\n"


def write(client: LspClient, path: Path, name: str = "Net") -> Json:
    """The change that a client is asked for."""
    asked = client.send(
        "workspace/executeCommand",
        {"command": "fxls.writeEntry", "arguments": [path.as_uri(), name]},
    )
    edit = client.reply("workspace/applyEdit", {"applied": True})["edit"]
    client.reply("window/showDocument", {"success": True})
    assert client.answer(asked)["result"] is True
    (change,) = edit["changes"][path.as_uri()]
    return change


@pytest.mark.parametrize(
    ("options", "more", "written"),
    [
        pytest.param({"trusted": True}, "", FITS, id="in a trusted folder"),
        pytest.param({"trusted": False}, "", GUESS, id="in another one"),
        pytest.param({"trusted": True}, TRAINS, GUESS, id="where the file does work"),
    ],
)
def test_what_is_written_for_a_class_runs(
    tmp_path: Path, options: Json, more: str, written: str
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    path = tmp_path / "net.py"
    path.write_text("raise RuntimeError('what is saved is not what is open')\n")
    with started() as client:
        client.initialize(tmp_path, options, EDITOR)
        client.open(path, NET + more)
        change = write(client, path)
        client.unread()
        client.end()

    assert change == {"range": spot(4, 0, 0), "newText": written}


def test_a_search_that_is_cancelled_leaves_the_guess(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.replace("return self.first(x)", "while True: pass"))
    (tmp_path / "parts.py").write_text(PARTS)
    with started() as client:
        client.initialize(tmp_path, {"trusted": True}, EDITOR)
        client.open(path)
        asked = client.send(
            "workspace/executeCommand",
            {"command": "fxls.writeEntry", "arguments": [path.as_uri(), "Net"]},
        )
        token = client.reply("window/workDoneProgress/create")["token"]
        begun = client.notification("$/progress")
        client.notify("window/workDoneProgress/cancel", {"token": token})
        edit = client.reply("workspace/applyEdit", {"applied": True})["edit"]
        client.reply("window/showDocument", {"success": True})
        done = client.answer(asked)["result"]
        client.unread()
        client.end()

    (change,) = edit["changes"][path.as_uri()]
    assert begun["value"]["title"] == "Looking for inputs that fit"
    assert (done, change["newText"]) == (True, GUESS)


@pytest.mark.parametrize(
    ("place", "trusted"),
    [((4, 10), True), ((11, 15), True), ((4, 10), False)],
    ids=["on the entry", "on the call that failed", "in an untrusted folder"],
)
def test_an_entry_that_fails_on_its_inputs_is_given_others(
    tmp_path: Path, place: tuple[int, int], *, trusted: bool
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    path = tmp_path / "net.py"
    path.write_text(NET.replace("class", f"{GUESS}class"))
    with started() as client:
        client.initialize(tmp_path, {"trusted": trusted}, EDITOR)
        client.open(path)
        client.command("fxls.trace", path.as_uri())
        offered = {
            one["title"]: one["command"]
            for one in client.request("textDocument/codeAction", at(path, *place))
            if "inputs with which" in one["title"]
        }
        changed: Json = []
        for title, command in offered.items():
            asked = client.send("workspace/executeCommand", command)
            edit = client.reply("workspace/applyEdit", {"applied": True})
            assert edit["label"] == title
            assert client.answer(asked)["result"] is True
            (changed,) = edit["edit"]["changes"].values()
        client.unread()
        client.end()

    expression = GUESS.removeprefix("# fxls: ").strip()
    title = f"Look for inputs with which {expression} runs"
    assert list(offered) == [title] * trusted
    fits = FITS.removeprefix("# fxls: ").strip()
    edit = {"range": spot(4, 8, 8 + len(expression)), "newText": fits}
    assert changed == [edit] * trusted


def test_where_no_inputs_are_found_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    (tmp_path / "parts.py").write_text(PARTS)
    path.write_text(
        "import torch\n\n\n# fxls: Net()(torch.randn(1, 8))\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        raise ValueError\n"
    )
    with started() as client:
        client.initialize(tmp_path, {"trusted": True}, EDITOR)
        client.open(path)
        command = "fxls.fitEntry"
        entry = "Net()(torch.randn(1, 8))"
        changed = client.command(command, path.as_uri(), entry)
        said = client.notification("window/showMessage")
        gone = client.command(command, path.as_uri(), "Gone()")
        broken = NET.replace("class", f"import nothing\n{GUESS}class")
        client.open(path.with_name("broken.py"), broken)
        arguments = [path.with_name("broken.py").as_uri(), GUESS[len("# fxls: ") : -1]]
        unbuilt = client.command(command, *arguments)
        why = client.notification("window/showMessage")
        client.unread()
        client.end()

    assert (changed, gone, unbuilt) == (False, False, False)
    assert why["message"] == (
        "fxls: no inputs were found with which Net(n_channels=3)(torch.randn(1, 8)) runs:"
        " ModuleNotFoundError: No module named 'nothing'"
    )
    assert said == {
        "type": 3,
        "message": f"fxls: no inputs were found with which {entry} runs",
    }


def at(path: Path, line: int, character: int) -> Json:
    place = {"line": line, "character": character}
    return {
        "textDocument": {"uri": path.as_uri()},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
