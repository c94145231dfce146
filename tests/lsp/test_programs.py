"""Files that train when they are imported: what a trusted server does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started

Json = Any

ASKS: Json = {"window": {"showMessage": {}}}

TRAIN = """\
import torch
from pathlib import Path


# fxls: Net()(torch.randn(2))
class Net(torch.nn.Module):
    def forward(self, signal):
        return signal.relu()


for epoch in range(2):
    Path(__file__).with_suffix(".ran").touch()
"""

REFUSED = (
    "train.py trains when it is imported, so it is not traced unasked\n"
    'Put what runs the program under `if __name__ == "__main__":`, or ask for the trace'
    " yourself."
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def saved(client: LspClient, path: Path, text: str) -> None:
    """What an editor says when somebody writes a text and saves it."""
    path.write_text(text)
    item = {"uri": path.as_uri(), "version": 2}
    change = {"textDocument": item, "contentChanges": [{"text": text}]}
    client.notify("textDocument/didChange", change)
    client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})


def said(diagnostics: list[Json]) -> list[tuple[int, int, str]]:
    return [
        (one["range"]["start"]["line"], one["severity"], one["message"])
        for one in diagnostics
    ]


def test_an_editor_that_cannot_ask_says_why_nothing_is_traced(program: Path) -> None:
    with started() as client:
        client.initialize(program.parent, {"trusted": True})
        client.open(program)
        shown = said(client.diagnostics(program))
        # Without an entry nothing would be traced.
        saved(client, program, TRAIN.replace("# fxls:", "#").replace("Module", "M"))
        after = said(client.diagnostics(program))
        client.end()

    assert shown == [(10, 3, REFUSED)]
    assert after == []
    assert not program.with_suffix(".ran").exists()


@pytest.mark.slow
def test_a_person_is_asked_once_before_a_program_is_imported(program: Path) -> None:
    ran = program.with_suffix(".ran")
    with started() as client:
        client.initialize(program.parent, {"trusted": True}, ASKS)
        client.open(program)
        shown = said(client.diagnostics(program))
        asked = client.reply("window/showMessageRequest", {"title": "Leave it alone"})
        # Another edit asks nothing: what is left unread fails the end.
        saved(client, program, TRAIN.replace("relu", "tanh"))
        # Who asks for a trace gets it.
        (item,) = client.command("fxls.trace", program.as_uri())
        traced = client.notification("window/logMessage")["message"]
        was_run = ran.exists()
        ran.unlink()
        # Another statement that trains is another question.
        saved(client, program, TRAIN.replace("range(2)", "range(3)"))
        again = client.reply(
            "window/showMessageRequest", {"title": "Import and trace it"}
        )
        after = said(client.diagnostics(program))
        log = client.notification("window/logMessage")["message"]
        saved(client, program, TRAIN.replace("range(2)", "range(3)") + "\n")
        second = client.notification("window/logMessage")["message"]
        # Whoever sets it is not asked.
        saved(client, program, TRAIN.replace("range(2)", "range(4)"))
        client.reply("window/showMessageRequest")
        held = said(client.diagnostics(program))
        settings = {"fxls": {"programs": "run"}}
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        set_to_run = client.notification("window/logMessage")["message"]
        client.unread()
        client.end()

    assert shown == held == [(10, 3, REFUSED)]
    assert asked == {
        "type": 2,
        "message": (
            "fxls: train.py trains when it is imported (line 11). To trace its models,"
            " fxls has to import it."
        ),
        "actions": [{"title": "Import and trace it"}, {"title": "Leave it alone"}],
    }
    assert again == asked
    assert "path" in item
    assert was_run
    assert after == []
    assert [one.partition(":")[0] for one in (traced, log, second, set_to_run)] == [
        "Net()(torch.randn(2))"
    ] * 4
    assert ran.exists()
