"""A listing in the cell of a notebook, shown by a real kernel."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ipykernel") is None
        and not os.environ.get("FXLS_TEST_ALL"),
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
    "fxls.show(module)",
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


def said_by(cells: tuple[str, ...], folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """What a kernel in a folder says of cells: kinds of messages, and contents."""
    (folder / "helper.py").write_text(HELPER)
    seen = folder / "seen.json"
    subprocess.run(
        [sys.executable, "-c", CLIENT, json.dumps(cells), str(seen)],
        cwd=folder,
        env={
            **os.environ,
            "FXLS_STORE": str(folder / "store"),
            **{
                f"{name}DIR": str(folder / "jupyter")
                for name in ("IPYTHON", "JUPYTER_DATA_", "JUPYTER_RUNTIME_")
            },
        },
        check=True,
        timeout=300,
    )
    return [(kind, content) for kind, content in json.loads(seen.read_text("utf-8"))]


def test_a_cell_shows_the_listing_and_names_the_cell_of_each_node(
    tmp_path: Path,
) -> None:
    said = said_by(CELLS, tmp_path)

    shown = [content["data"] for kind, content in said if kind == "display_data"]
    html, again = [data["text/html"] for data in shown]
    assert html == again
    assert "<b>Net, engine</b>: 5 nodes" in html
    places = ("In [2]:2", "In [2]:3", "helper.py:2")
    assert [html.count(f">{place}<") for place in places] == [1, 3, 1]
    assert "ipykernel" not in html
    (path,) = (tmp_path / "store").glob("Net_*.py")
    values = [
        content["data"]["text/plain"]
        for kind, content in said
        if kind == "execute_result"
    ]
    # The path is the value of the cell, and stands there once.
    assert values == [repr(path), "7"]
    assert [kind for kind, _ in said if kind == "stream"] == []


GRAPHS = (
    "import torch, fxls, fxls.engine",
    """\
class Net(torch.nn.Module):
    def forward(self, signal):
        return torch.relu(signal) + signal
""",
    "fxls.engine.symbolic_trace(Net())",
    "%load_ext fxls",
    "fxls.engine.symbolic_trace(Net())",
    "torch.fx.symbolic_trace(Net())",
    "torch.export.export(Net(), (torch.ones(2),))",
    "%unload_ext fxls",
    "torch.fx.symbolic_trace(Net())",
)


def test_a_graph_that_is_the_value_of_a_cell_is_shown_as_its_listing(
    tmp_path: Path,
) -> None:
    values = [
        content["data"]
        for kind, content in said_by(GRAPHS, tmp_path)
        if kind == "execute_result"
    ]
    shown = [
        re.findall(r"<b>(.*?)</b>: (\d) nodes", value.get("text/html", ""))
        for value in values
    ]
    assert shown == [
        *([], [("Net, engine", "4")], [("Net, torch.fx", "4")]),
        *([("Net, torch.export", "4")], []),
    ]
    assert all(value["text/plain"] for value in values)
    assert [value.get("text/html", "").count("<svg ") for value in values] == [
        *(0, 1, 1, 1, 0)
    ]
