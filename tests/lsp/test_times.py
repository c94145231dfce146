"""What an extension asks to colour a picture by time."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR

Json = Any

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, signal):
        return torch.relu(signal) @ signal


class Bare(torch.nn.Module):
    def forward(self, signal):
        return signal + 1


# fxls: Net()(torch.ones(2, 2))
# fxls[export]: Net()(torch.ones(2, 2))
"""


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


def listing_of(client: LspClient, net: Path, entry: str) -> str:
    """The URI of what an entry is traced to."""
    command = {"command": "fxls.trace", "arguments": [net.as_uri(), entry]}
    (item,) = client.request("workspace/executeCommand", command)
    return item["uri"]


def times(client: LspClient, uri: str) -> Json:
    return client.request("fxls/times", {"uri": uri})


@pytest.mark.slow
def test_each_node_has_a_time(client: LspClient, net: Path) -> None:
    uri = listing_of(client, net, "Net()(torch.ones(2, 2))")
    nodes = client.request("fxls/graph", {"uri": uri})["nodes"]
    measured = times(client, uri)

    assert [*measured] == ["nanoseconds"]
    assert len(measured["nanoseconds"]) == len(nodes) == 4
    assert all(time > 0 for time in measured["nanoseconds"])


@pytest.mark.slow
def test_who_waits_for_times_sees_progress_and_can_stop_it(net: Path) -> None:
    go_on = net.parent / "go on"
    with started() as client:
        client.initialize(net.parent, capabilities=EDITOR)
        uri = listing_of(client, net, "Net()(torch.ones(2, 2))")
        client.unread()
        wait = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
        net.write_text(wait + NET)
        asked = client.send("fxls/times", {"uri": uri})
        token = client.reply("window/workDoneProgress/create")["token"]
        begin = client.notification("$/progress")
        client.notify("window/workDoneProgress/cancel", {"token": token})
        stopped = client.answer(asked)["result"]
        end = client.notification("$/progress")
        asked = client.send("fxls/times", {"uri": uri})
        client.reply("window/workDoneProgress/create")
        client.notification("$/progress")
        client.notify("$/cancelRequest", {"id": asked})
        cancelled = client.answer(asked)["error"]["code"]
        asked = client.send("fxls/times", {"uri": uri})
        client.reply("window/workDoneProgress/create")
        go_on.touch()
        measured = client.answer(asked)["result"]
        client.unread()
        client.end()

    assert begin == {
        "token": token,
        "value": {
            "kind": "begin",
            "title": "Measuring",
            "cancellable": True,
            "message": "Net()(torch.ones(2, 2))",
        },
    }
    assert end == {"token": token, "value": {"kind": "end"}}
    assert stopped == {"problem": "Net()(torch.ones(2, 2)): it was cancelled."}
    assert cancelled == -32800
    assert [*measured] == ["nanoseconds"]


@pytest.mark.slow
def test_what_cannot_be_measured_says_why(client: LspClient, net: Path) -> None:
    without = listing_of(client, net, "Bare()")
    exported = listing_of(client, net, "[export] Net()(torch.ones(2, 2))")
    old = listing_of(client, net, "Net()(torch.ones(2, 2))")
    net.write_text(NET.replace("relu", "tanh"))

    assert times(client, without) == {
        "problem": "Bare() gives no example inputs: call the model with them."
    }
    assert times(client, exported) == {
        "problem": "Times are measured by running the entry of a listing, "
        "and this one was not made from one by the engine."
    }
    assert times(client, old) == {"problem": "The model has changed since then."}
    net.write_text("import nowhere\n" + NET)
    assert times(client, old) == {
        "problem": "Net()(torch.ones(2, 2)): "
        "ModuleNotFoundError: No module named 'nowhere'."
    }
    assert times(client, net.as_uri()) is None
