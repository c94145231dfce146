"""What a trusted server runs by itself: the code of the folders that it was trusted with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch.nn.modules.linear

from tests.support.lsp_client import LspClient, started

Json = Any

pytestmark = pytest.mark.slow

NET = """\
import torch, torch.nn as nn
from pathlib import Path

Path(__file__).with_suffix(".ran").touch()


# fxls: Net()(torch.randn(2))
class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""

LINEAR = Path(torch.nn.modules.linear.__file__)


def model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    path = folder / "net.py"
    path.write_text(NET)
    return path


def begun(client: LspClient, folder: Path | None) -> None:
    client.request(
        "initialize",
        {
            "processId": None,
            "rootUri": None,
            "workspaceFolders": (
                [{"uri": folder.as_uri(), "name": folder.name}] if folder else None
            ),
            "capabilities": {},
            "initializationOptions": {"trusted": True},
        },
    )
    client.notify("initialized", {})


@pytest.mark.parametrize("has_folder", [True, False], ids=["a folder", "no folder"])
def test_only_the_project_that_was_opened_is_run(
    has_folder: bool, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    own, elsewhere = model(project), model(tmp_path / "elsewhere")
    installed = model(
        project / ".venv" / "lib" / "python3.11" / "site-packages" / "net"
    )
    with started() as client:
        begun(client, project if has_folder else None)
        client.open(own)
        said = [client.notification("window/logMessage")["message"]]
        # The library as somebody sees it who wrote an entry into it.
        client.open(LINEAR, f"# fxls: Linear(2, 3)(x)\n{LINEAR.read_text('utf-8')}")
        for path in (installed, elsewhere):
            client.open(path)
        # A worker does one after the other: what is asked for comes last.
        client.notify("textDocument/didSave", {"textDocument": {"uri": own.as_uri()}})
        said.append(client.notification("window/logMessage")["message"])
        ran = sorted(tmp_path.rglob("*.ran"))
        # Somebody who asks is answered.
        (item,) = client.command("fxls.trace", elsewhere.as_uri())
        asked = client.notification("window/logMessage")["message"]
        client.unread()
        client.end()

    assert [one.partition(": ")[0] for one in (*said, asked)] == [
        "Net()(torch.randn(2))"
    ] * 3
    assert ran == [own.with_suffix(".ran")]
    assert Path(item["path"]).is_relative_to(elsewhere.parent)
    assert elsewhere.with_suffix(".ran").exists()
    assert not installed.with_suffix(".ran").exists()
