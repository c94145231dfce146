"""A server that begins with its worker, because the editor shows a model."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started

Json = Any

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for children"),
]

NET = """\
import os
import torch, torch.nn as nn
from pathlib import Path

Path(__file__).with_suffix(".ran").write_text(str(os.getppid()))


# fxls: Net()(torch.randn(2))
class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


def serve(folder: Path) -> str:
    """The program of a server that an editor starts in a folder."""
    return (
        f"import os, sys; os.chdir({str(folder)!r}); sys.argv[1:] = ['serve', '--warm']\n"
        "from fxls.cli import main; raise SystemExit(main())"
    )


def workers(client: LspClient) -> set[int]:
    """The processes that the server has started."""
    pid = client.process.pid
    found = [
        task.joinpath("children").read_text().split()
        for task in Path(f"/proc/{pid}/task").iterdir()
    ]
    return {int(child) for children in found for child in children}


def has_ended(pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 60)[0])
    finally:
        os.close(process)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "net.py"
    path.parent.mkdir()
    path.with_name("pyproject.toml").touch()
    path.write_text(NET)
    return path


def test_it_traces_in_the_worker_that_began_with_it(net: Path) -> None:
    with started(serve(net.parent)) as client:
        client.initialize(net.parent)
        begun = workers(client)
        items = [client.command("fxls.trace", net.as_uri())[0] for _ in range(2)]
        now = workers(client)
        client.unread()
        client.end()
        ended = [has_ended(pid) for pid in begun]

    assert len(begun) == 1
    assert now == begun
    assert {int(net.with_suffix(".ran").read_text())} == begun
    assert items[0] == items[1]
    assert "torch.relu(x)" in Path(items[0]["path"]).read_text()
    assert ended == [True]


def test_a_worker_that_is_lost_is_started_again(net: Path) -> None:
    with started(serve(net.parent)) as client:
        client.initialize(net.parent)
        (begun,) = workers(client)
        first = client.command("fxls.trace", net.as_uri())
        os.kill(begun, 9)
        second = client.command("fxls.trace", net.as_uri())
        (now,) = workers(client)
        client.unread()
        client.end()

    assert first == second
    assert now != begun
    assert int(net.with_suffix(".ran").read_text()) == now


def test_nobody_takes_it_for_another_folder_and_it_ends_with_the_server(
    net: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with started(serve(other)) as client:
        client.initialize(net.parent)
        (begun,) = workers(client)
        client.command("fxls.trace", net.as_uri())
        both = workers(client)
        client.unread()
        client.end()
        ended = [has_ended(pid) for pid in both]

    assert len(both) == 2
    assert int(net.with_suffix(".ran").read_text()) in both - {begun}
    assert ended == [True, True]


def test_it_does_not_outlive_a_server_that_is_killed(net: Path) -> None:
    with started(serve(net.parent)) as client:
        client.initialize(net.parent)
        (begun,) = workers(client)
        client.process.kill()
        assert has_ended(begun)
