"""A long source that is opened keeps no request of another file waiting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.held_asides import started_with_held_asides
from tests.support.lsp_client import Json, started

pytestmark = pytest.mark.slow

MODEL = """\
class Net{number}(torch.nn.Module):
    def forward(self, x):
{body}
        return x


"""
BODY = "\n".join(f"        x = torch.relu(x + {n}) * {n}" for n in range(40))
TEXT = "import torch\n\n\n" + "".join(
    MODEL.format(number=number, body=BODY) for number in range(1_000)
)
"""Of 1.6 MB."""

ADDED = MODEL.format(number="Added", body="        x = x + 1")


def lines_of_classes(text: str) -> list[int]:
    lines = text.split("\n")
    return [n for n, line in enumerate(lines) if re.match(r"class Net", line)]


def test_a_hover_in_a_listing_is_answered_while_a_source_is_read(
    project: Path, listing: Path
) -> None:
    path = project / "long.py"
    of_long: Json = {"textDocument": {"uri": path.as_uri()}}
    start = {"line": 3, "character": 0}
    gate = project / "let.go"
    with started_with_held_asides(gate) as client:
        client.initialize(project)

        client.open(path, TEXT)
        # What is said of the source meanwhile is heard when it is read, in this order.
        changes = [{"range": {"start": start, "end": start}, "text": ADDED}]
        document = {**of_long["textDocument"], "version": 2}
        params = {"textDocument": document, "contentChanges": changes}
        client.notify("textDocument/didChange", params)
        late = client.send("textDocument/codeLens", of_long)
        hover = {**of_long, "position": start}
        given_up = client.send("textDocument/hover", hover)
        client.notify("$/cancelRequest", {"id": given_up})

        assert client.ask("hover", listing, 5, 4) is not None
        came = [message.get("id") for message in client.came()]
        gate.touch()
        lenses = client.answer(late)["result"]
        error = client.answer(given_up)["error"]
        errors = client.end()

    assert late not in came
    found = [lens["range"]["start"]["line"] for lens in lenses]
    text = TEXT.replace("class Net0", f"{ADDED}class Net0", 1)
    assert sorted({*found}) == lines_of_classes(text)
    assert error["message"] == "the request was cancelled"
    assert errors == ""


def test_a_server_that_reads_a_source_ends_when_it_is_told(project: Path) -> None:
    with started() as client:
        client.initialize(project)
        client.open(project / "long.py", TEXT)

        assert client.end() == ""
