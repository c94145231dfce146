"""A listing in the cell of a notebook, shown by a real kernel."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ipykernel") is None,
        reason="there is no ipykernel here: install it to run notebooks",
    ),
]

CELLS = (
    "import torch, fxls, fxls.engine",
    """\
class Net(torch.nn.Module):
    def forward(self, x):
        return helper.twice(x) + torch.relu(x)
""",
    "import helper; module = fxls.engine.symbolic_trace(Net())",
    "path = fxls.show(module)",
    "7",
)

HELPER = "def twice(x):\n    return x * 2\n"

CLIENT = """\
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
seen = []
try:
    for cell in json.loads(sys.argv[1]):
        reply = client.execute_interactive(
            cell, timeout=120, output_hook=lambda message: seen.append(
                [message["msg_type"], message["content"]]
            )
        )
        assert reply["content"]["status"] == "ok", reply["content"]
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
json.dump(seen, open(sys.argv[2], "w"))
"""


def test_a_cell_shows_the_listing_and_names_the_cell_of_each_node(
    tmp_path: Path,
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    seen = tmp_path / "seen.json"
    subprocess.run(
        [sys.executable, "-c", CLIENT, json.dumps(CELLS), str(seen)],
        cwd=tmp_path,
        env={
            **os.environ,
            "FXLS_STORE": str(tmp_path / "store"),
            **{
                f"{name}DIR": str(tmp_path / "jupyter")
                for name in ("IPYTHON", "JUPYTER_DATA_", "JUPYTER_RUNTIME_")
            },
        },
        check=True,
        timeout=300,
    )

    said = json.loads(seen.read_text("utf-8"))
    shown = [content["data"] for kind, content in said if kind == "display_data"]
    (html,) = [data["text/html"] for data in shown]
    assert "<b>Net, engine</b>: 5 nodes" in html
    places = ("In [2]:2", "In [2]:3", "helper.py:2")
    assert [html.count(f">{place}<") for place in places] == [1, 3, 1]
    assert "ipykernel" not in html
    (path,) = (tmp_path / "store").glob("Net_*.py")
    printed = [content["text"] for kind, content in said if kind == "stream"]
    assert "".join(printed) == f"{path}:5\n"
