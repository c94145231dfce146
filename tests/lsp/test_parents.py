"""From a listing to those that it was made from: what torch.compile and torch.export do
with a graph, as an editor shows it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.listing import Listing
from fxls.store import Store
from tests.support.lsp_client import LspClient, started
from tests.support.programs import needs_inductor
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

STAGED = """\
import warnings

import torch


class Net(torch.nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.mix = torch.nn.Linear(size, size)

    def forward(self, signal):
        return torch.relu(self.mix(signal))


warnings.simplefilter("ignore")  # torch's own
x = torch.ones(2, 4, requires_grad=True)
torch.compile(Net(), backend=BACKEND)(x).sum().backward()
program = torch.export.export(Net(), (x,))
program.run_decompositions().module()
"""

AOT_EAGER = {
    "graph 0": None,
    "graph 0, forward": "graph 0",
    "graph 0, backward": "graph 0",
}

INDUCTOR = {
    "graph 0": None,
    "graph 0, pre-grad": "graph 0",
    "graph 0, joint": "graph 0, pre-grad",
    "graph 0, forward": "graph 0, joint",
    "graph 0, backward": "graph 0, joint",
    "graph 0, forward, post-grad": "graph 0, forward",
    "graph 0, backward, post-grad": "graph 0, backward",
    "graph 0, forward, kernels": "graph 0, forward, post-grad",
    "graph 0, backward, kernels": "graph 0, backward, post-grad",
}


@pytest.mark.parametrize(
    ("backend", "stages"),
    [
        ("aot_eager", AOT_EAGER),
        pytest.param("inductor", INDUCTOR, marks=needs_inductor),
    ],
)
def test_each_graph_leads_to_the_one_that_it_was_made_from(
    tmp_path: Path, backend: str, stages: dict[str, str | None]
) -> None:
    program = tmp_path / "staged.py"
    program.write_text(STAGED.replace("BACKEND", repr(backend)), "utf-8")
    (tmp_path / "pyproject.toml").touch()
    command = [sys.executable, "-m", "fxls", "run", str(program)]
    subprocess.run(
        command, cwd=tmp_path, check=True, timeout=300, env=os.environ | GRAPHS_ANEW
    )
    store = Store(tmp_path / ".fxls")
    paths = {
        revision.path: store.read_revision(revision)
        for identity in store.identities()
        for revision in store.revisions(identity)
    }

    with started() as client:
        client.initialize(tmp_path, capabilities=EDITOR)
        shown = {
            path: (_parent(client, path), _link(client, path), _made_by(client, path))
            for path in paths
        }
        client.end()

    compiled = {
        listing.identity.stage: path
        for path, listing in paths.items()
        if listing.identity.producer == "torch.compile"
        # That one is left by passes, and no step of the compiler begins with it.
        and listing.identity.stage != "graph 0, traced"
    }
    captured = compiled["graph 0"]
    assert {stage: shown[path] for stage, path in compiled.items()} == {
        stage: (
            given and compiled[given],
            given and (compiled[given] if is_code(stage) else captured),
            {captured}
            if not is_code(stage) and _adds(paths[compiled[stage]], paths[captured])
            else set(),
        )
        for stage, given in stages.items()
    }
    whole, decomposed = (
        path
        for path, listing in paths.items()
        if listing.identity.producer == "torch.export" and not listing.identity.stage
    )
    (module,) = (p for p, one in paths.items() if one.identity.stage == "module")
    assert shown[whole] == (None, None, set())
    # Of these nodes torch itself names the passes, which a hover says instead.
    assert shown[decomposed] == (whole, None, set())
    assert shown[module] == (decomposed, None, set())


def _path(uri: str) -> Path:
    return Path(unquote(uri.removeprefix("file://").partition("#")[0]))


def _parent(client: LspClient, path: Path) -> Path | None:
    """The listing that stands beside this one."""
    parent = client.request("fxls/graph", {"uri": path.as_uri()}).get("parent")
    return parent and _path(parent)


def _link(client: LspClient, path: Path) -> Path | None:
    """The listing that the head leads to."""
    asked = {"textDocument": {"uri": path.as_uri()}}
    links = client.request("textDocument/documentLink", asked)
    parents = [_path(link["target"]) for link in links if "made" in link["tooltip"]]
    return parents[0] if parents else None


def is_code(stage: str) -> bool:
    """Whether it is no graph: its head names the graph that it was written for."""
    return stage.endswith(", kernels")


def _made_by(client: LspClient, path: Path) -> set[Path]:
    """The listings behind which nodes were made, by the hovers of all nodes."""
    found: set[Path] = set()
    graph = client.request("fxls/graph", {"uri": path.as_uri()})
    for node in graph["nodes"]:
        said = client.ask("hover", path, node["line"], node["character"])
        for line in said["contents"]["value"].split("\n"):
            if "what ran after" in line:
                found.add(_path(line.partition("](")[2].partition(")")[0]))
    return found


def _adds(listing: Listing, captured: Listing) -> bool:
    """Whether a graph calls anything that the captured one does not call."""
    calls, before = (
        {(f.opcode, f.target) for f in one.nodes if f.opcode.startswith("call")}
        for one in (listing, captured)
    )
    return bool(calls - before)
