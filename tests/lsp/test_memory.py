"""A server that runs all day does not grow. `benchmarks/server_answers.py` does more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lsp_client import LspClient, started

pytestmark = pytest.mark.slow

MODEL = """\
import torch


# fxls: Net()(torch.randn(2, 3))
class Net(torch.nn.Module):
    def forward(self, x):
        for _ in range(100):
            x = torch.relu(x) + {number}
        return x
"""

BEFORE, COUNT = 20, 50
"""So many traces fill the caches; and so many are then measured."""

ARENA = 1024
"""What Python asks the system for at once, in KiB: a single object more may need another."""


def resident(client: LspClient) -> int:
    """What the server has in memory, in KiB."""
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    (line,) = (line for line in status.split("\n") if line.startswith("VmRSS"))
    return int(line.split()[1])


def traced(client: LspClient, net: Path, number: int) -> Path:
    """Another listing of the model, which was opened, looked at and closed."""
    net.write_text(MODEL.format(number=number))
    (item,) = client.command("fxls.trace", net.as_uri())
    listing = Path(item["path"])
    client.open(listing)
    assert client.ask("hover", listing, 8, 6) is not None
    client.notify("textDocument/didClose", {"textDocument": {"uri": listing.as_uri()}})
    client.unread()
    return listing


def hovered(client: LspClient, listing: Path, times: int) -> None:
    """Asks for what is under the cursor in so many lines of a listing, in turns."""
    for number in range(times):
        assert client.ask("hover", listing, 8 + number % 100, 6) is not None


def test_traces_and_requests_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    net = tmp_path / "net.py"
    with started() as client:
        client.initialize(tmp_path)
        client.open(net, MODEL)
        found = {traced(client, net, number) for number in range(BEFORE)}
        before = resident(client)
        found |= {traced(client, net, BEFORE + number) for number in range(COUNT)}
        after_traces = resident(client)
        last = max(found, key=lambda path: path.stat().st_mtime_ns)
        hovered(client, last, 1_000)
        before_requests = resident(client)
        hovered(client, last, 6_000)
        after_requests = resident(client)
        client.unread()
        client.end()

    assert len(found) == BEFORE + COUNT, "each made another listing"
    # A listing of 200 nodes is 300 KiB in memory, so none may be left of each; the log
    # has a line of each, and the texts of the source are kept up to a hundred.
    assert (after_traces - before) / COUNT < 40
    assert after_requests - before_requests <= ARENA
