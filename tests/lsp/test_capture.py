"""A model that the engine refuses is shown all the same, and the editor says by whom."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started

Json = Any

pytestmark = pytest.mark.slow

ENTRY = "Net()(torch.ones(2, 3))"

NET = f"""\
import torch


# fxls: {ENTRY}
class Net(torch.nn.Module):
    def forward(self, x):
        x = torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
        y = torch.relu(x)
        return y.t()
"""

CHOICE = "torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))"
BRANCH = "symbolically traced variables cannot be used as inputs to control flow"
COND = "Expected pred to be bool or tensor, but got Proxy(gt)."


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "net.py"
    path.write_text(NET)
    return path


@pytest.fixture
def client(net: Path) -> Generator[LspClient]:
    with started() as client:
        client.initialize(net.parent)
        yield client
        client.unread()
        client.end()


def trace(client: LspClient, net: Path) -> Json:
    client.open(net)
    (item,) = client.command("fxls.trace", net.as_uri())
    return item


def lenses(client: LspClient, net: Path) -> list[str]:
    asked = {"textDocument": {"uri": net.as_uri()}}
    found = client.request("textDocument/codeLens", asked)
    return [
        one["command"]["title"] for one in found if one["range"]["start"]["line"] == 3
    ]


def hints(client: LspClient, net: Path) -> list[tuple[int, str]]:
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    asked = {"textDocument": {"uri": net.as_uri()}, "range": whole}
    found = client.request("textDocument/inlayHint", asked)
    return sorted((one["position"]["line"], one["label"]) for one in found)


def test_another_producer_gives_listing_lenses_and_shapes(
    client: LspClient, net: Path
) -> None:
    item = trace(client, net)
    assert [*item] == ["expression", "uri", "path"]
    (said,) = client.diagnostics(net)
    assert said["severity"] == 4, "a hint"
    assert said["range"]["start"] == {"line": 6, "character": 12}
    assert said["message"].startswith(f"{COND}\ntorch.export captures it: ")
    text = Path(item["path"]).read_text("utf-8")
    assert text.splitlines()[:2] == [
        "# The code of Net's graph, made by torch.export and written by fxls.",
        f"# fxls.engine cannot capture it: {COND}",
    ]
    assert lenses(client, net) == [
        "Trace",
        "Show generated code",
        f"captured by torch.export: fxls.engine cannot capture it: {COND}",
        "Debug generated code",
        "Table (10 nodes)",
    ]
    assert hints(client, net) == [
        (6, ": f32[2, 3]"),
        (7, ": f32[2, 3]"),
        (8, ": f32[3, 2]"),
    ]


def test_an_entry_that_insists_fails_as_its_producer_does(
    client: LspClient, net: Path
) -> None:
    net.write_text(NET.replace("# fxls:", "# fxls[engine]:"))
    item = trace(client, net)
    assert (item.get("uri"), item["message"]) == (None, COND)
    (said,) = client.diagnostics(net)
    assert said["severity"] == 1


def test_what_nobody_captures_has_every_reason(client: LspClient, net: Path) -> None:
    branch = "if x.sum() > 0:\n            raise ValueError('large')\n        y ="
    net.write_text(NET.replace("y =", branch).replace(CHOICE, "x"))
    trace(client, net)
    (said,) = client.diagnostics(net)
    assert (said["severity"], said["message"].partition("\n")[0]) == (1, BRANCH)
    export, compiled = [one["message"] for one in said["relatedInformation"][-2:]]
    assert export.startswith("torch.export: ")
    assert compiled == "torch.compile: ValueError: large"


def test_the_setting_has_the_order(net: Path) -> None:
    net.write_text(NET.replace(CHOICE, "x"))
    with started() as client:
        client.initialize(net.parent, {"producers": ["export", "engine"]})
        item = trace(client, net)
        client.unread()
        client.end()
    assert "made by torch.export" in Path(item["path"]).read_text("utf-8")
