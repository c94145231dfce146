"""A client that goes away without a word leaves nothing running."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from tests.support.lsp_client import PATIENCE, LspClient, started
from tests.support.projects import EDITOR

ENDLESS = """\
import os, pathlib, time
import torch

pathlib.Path(__file__).with_name("tracing").write_text(str(os.getpid()))
time.sleep(100_000)  # of a loop that never ends the server would ask first


# fxls: torch.nn.Linear(1, 1)(torch.ones(1))
"""


@pytest.mark.slow
def test_a_trace_that_never_ends_does_not_keep_the_server(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "endless.py").write_text(ENDLESS)
    os.mkfifo(tmp_path / "tracing")
    with started() as client:
        client.initialize(tmp_path, {"trusted": True}, EDITOR)
        client.open(tmp_path / "endless.py")
        tracing = int(said(tmp_path / "tracing"))
        hang_up(client)

        assert client.process.wait(PATIENCE) == 0
        assert ends(tracing)


@pytest.mark.slow
def test_a_worker_that_is_starting_does_not_keep_the_server(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "endless.py").write_text(ENDLESS)
    with started() as client:
        client.initialize(tmp_path, {"trusted": True}, EDITOR)
        client.open(tmp_path / "endless.py")
        client.reply("window/workDoneProgress/create")
        hang_up(client)

        assert client.process.wait(PATIENCE) == 0


def hang_up(client: LspClient) -> None:
    assert client.process.stdin is not None
    client.process.stdin.close()


def said(pipe: Path) -> str:
    """What a process writes into a pipe; empty where none does so in time."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        begun, _, _ = select.select([descriptor], [], [], PATIENCE)
        return os.read(descriptor, 100).decode() if begun else ""
    finally:
        os.close(descriptor)


def ends(process: int) -> bool:
    """Whether a process of another's is gone, at the latest when that is awaited."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], PATIENCE)[0])
    finally:
        os.close(descriptor)
