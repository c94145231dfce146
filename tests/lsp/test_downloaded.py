"""A folder that came as an archive: nothing in it says that it is a project."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from fxls.store_root import locate
from tests.support.lsp_client import started

pytestmark = pytest.mark.slow

HALVES = """\
from torch import nn


class Halved(nn.Module):
    def forward(self, rows):
        return rows / 2
"""

NET = """\
import torch

from layers.halves import Halved


# fxls: Net()(torch.randn(2, 3))
class Net(Halved):
    def forward(self, rows):
        return super().forward(rows) + rows
"""

TRAIN = """\
import torch

torch.compile(torch.nn.ReLU(), backend="eager")(torch.randn(2, 3))
"""


@pytest.fixture
def unpacked() -> Generator[Path]:
    """Where no folder above has a mark of a project, as those of the tests may have."""
    places = (tempfile.gettempdir(), "/var/tmp", Path.home())
    place = next(
        one for one in places if locate(str(one), None) == str(Path(one, ".fxls"))
    )
    folder = Path(tempfile.mkdtemp(prefix="net-main-", dir=place))
    for path, text in (
        ("layers/halves.py", HALVES),
        ("models/net.py", NET),
        ("scripts/train.py", TRAIN),
    ):
        (folder / path).parent.mkdir()
        (folder / path).write_text(text)
    yield folder
    shutil.rmtree(folder)


def stores(folder: Path) -> list[str]:
    return [str(one.relative_to(folder)) for one in folder.rglob(".fxls")]


def fxls(folder: Path, *arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "fxls", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return run.stdout


def test_the_folder_that_is_open_is_the_project(unpacked: Path) -> None:
    net = unpacked / "models" / "net.py"
    with started() as client:
        client.initialize(unpacked, {"trusted": True})
        # It imports what lies beside its own folder, as programs in the folder can.
        (item,) = client.command("fxls.trace", net.as_uri())
        client.unread()
        client.end()
    assert Path(item["path"]).parent == unpacked / ".fxls"
    assert stores(unpacked) == [".fxls"]


def test_so_is_the_folder_that_a_command_runs_in(unpacked: Path) -> None:
    fxls(unpacked, "run", "scripts/train.py")
    assert stores(unpacked) == [".fxls"]
    assert "ReLU" in fxls(unpacked, "list")
    fxls(unpacked, "trace", "models/net.py")
    assert stores(unpacked) == [".fxls"]
    assert fxls(unpacked, "list").count("net.Net") == 1
