"""What `fxls compare` judged, as an editor shows it: hints, hovers, rows, colours, problems.

The numbers are those that the command says of the fault.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fxls.store import Store
from tests.support.lsp_client import LspClient, started
from tests.support.programs import needs_inductor
from tests.support.projects import EDITOR

Json = Any

pytestmark = [pytest.mark.slow, needs_inductor]

PROGRAM = """\
import sys

import torch
import torch._inductor.config as config
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, signal):
        sums = torch.relu(signal * self.weight)
        gate = torch.sigmoid(sums)
        return gate @ self.weight


def swaps(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.sigmoid.default:
            node.target = torch.ops.aten.tanh.default


if "right" not in sys.argv:
    config.post_grad_custom_post_pass = swaps
torch.manual_seed(0)
torch.compile(Net())(torch.randn(4, 4))
"""
CAPTURED, LAST = "graph 0", "graph 0, forward, post-grad"
CODE = "graph 0, forward, kernels"


class Compared(NamedTuple):
    client: LspClient
    folder: Path
    off: float
    """What the command says of the fault."""
    allowed: float

    @property
    def program(self) -> Path:
        return self.folder / "net.py"

    def listing(self, stage: str) -> Path:
        """The newest listing of a stage."""
        store = Store(self.folder / ".fxls")
        (path,) = [
            newest.path
            for one in store.identities()
            if one.stage == stage and (newest := store.newest(one))
        ]
        return path

    def text(self) -> str:
        off = f"wrong: off by {self.off:.3g}, explained {self.allowed:.2g}"
        return f"{off} (post_grad_custom_post_pass, {LAST})"

    def hints(self, stage: str) -> dict[str, str]:
        """The hints that are errors, by what the line begins with."""
        path = self.listing(stage)
        lines = path.read_text("utf-8").split("\n")
        end = {"line": len(lines), "character": 0}
        asked = {
            "textDocument": {"uri": path.as_uri()},
            "range": {"start": {"line": 0, "character": 0}, "end": end},
        }
        hints: list[Json] = self.client.request("textDocument/inlayHint", asked)
        found: dict[str, str] = {}
        for hint in hints:
            label: str = hint["label"].strip()
            line: int = hint["position"]["line"]
            if "explained" in label:
                assert hint["position"]["character"] == len(lines[line])
                found[lines[line].strip().partition(" ")[0].rstrip(":")] = label
        return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    folder = tmp_path_factory.mktemp("numbers").resolve()
    (folder / "pyproject.toml").touch()
    (folder / "net.py").write_text(PROGRAM, "utf-8")
    found = run_compare(folder)
    (fault,) = found["faults"]
    with started() as client:
        client.initialize(folder, capabilities=EDITOR)
        evidence = fault["evidence"]
        yield Compared(client, folder, evidence["error"], evidence["allowed"])
        client.end()


def run_compare(folder: Path, *arguments: str) -> Json:
    command = [sys.executable, "-m", "fxls", "compare", "--json", "net.py", *arguments]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    return json.loads(ended.stdout)


@pytest.mark.parametrize("stage", [CAPTURED, LAST])
def test_the_wrong_node_says_by_how_much_in_each_listing_that_has_it(
    stage: str, compared: Compared
) -> None:
    wrong = {
        name: text
        for name, text in compared.hints(stage).items()
        if text.startswith("wrong")
    }

    name = "gate" if stage == CAPTURED else "sigmoid"
    assert wrong == {name: compared.text()}


def test_a_node_that_a_pass_altered_has_no_error_of_what_it_was_before(
    compared: Compared,
) -> None:
    assert compared.hints("graph 0, forward") == {}


def test_rows_are_sorted_by_error_and_inputs_have_none(
    compared: Compared,
) -> None:
    uri = compared.listing(LAST).as_uri()
    asked = {"uri": uri, "sort": "error", "descending": True}
    answer = compared.client.request("fxls/table", asked)
    rows = answer["rows"]

    assert answer["compared"]
    first = rows[0]
    assert (first["name"], first["error"]["wrong"]) == ("sigmoid", True)
    assert first["error"]["off"] == pytest.approx(compared.off)
    assert first["error"]["explained"] == pytest.approx(compared.allowed)
    assert first["error"]["text"] == compared.text()
    assert all(
        "error" not in row for row in rows if row["opcode"] in ("placeholder", "output")
    )
    assert [row["name"] for row in rows if row.get("error", {}).get("wrong")] == [
        "sigmoid"
    ]


def test_a_picture_has_the_errors_of_its_nodes(compared: Compared) -> None:
    asked = {"uri": compared.listing(LAST).as_uri()}
    nodes = compared.client.request("fxls/graph", asked)["nodes"]

    wrong = [one["name"] for one in nodes if one.get("error", {}).get("wrong")]
    assert wrong == ["sigmoid"]


def test_the_hover_of_the_wrong_node_says_what_was_compared(compared: Compared) -> None:
    path = compared.listing(LAST)
    lines = path.read_text("utf-8").split("\n")
    line = next(at for at, one in enumerate(lines) if "sigmoid = " in one)

    card = compared.client.ask("hover", path, line, 5)["contents"]["value"]

    assert f"compared: {compared.text()}" in card.replace("*", "").replace("\\", "")


def test_a_call_of_a_kernel_has_the_errors_of_what_it_computes(
    compared: Compared,
) -> None:
    asked = {"uri": compared.listing(CODE).as_uri()}
    nodes = compared.client.request("fxls/graph", asked)["nodes"]

    said = {one["name"]: one["error"]["text"] for one in nodes if "error" in one}
    fused = "cpp_fused_mul_relu_sigmoid_0:1"
    assert said.keys() == {fused, "extern_kernels.mm:2"}
    assert said[fused] == compared.text()
    assert "wrong" not in said["extern_kernels.mm:2"]


def test_the_newest_comparison_of_a_graph_is_the_one_that_counts(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(PROGRAM, "utf-8")
    assert run_compare(tmp_path)["verdict"] == "fault"
    assert run_compare(tmp_path, "right")["verdict"] == "right"

    with started() as client:
        client.initialize(tmp_path, capabilities=EDITOR)
        compared = Compared(client, tmp_path, 0.0, 0.0)
        said = compared.hints(CAPTURED).values()
        client.end()

    assert [one for one in said if one.startswith("wrong")] == []


def test_the_fault_is_a_warning_on_the_expression_of_the_model(
    compared: Compared,
) -> None:
    compared.client.open(compared.program)
    found = compared.client.diagnostics(compared.program)

    assert [(one["range"]["start"], one["severity"]) for one in found] == [
        ({"line": 14, "character": 15}, 2)
    ]
    assert found[0]["message"].startswith(
        "Wrong numbers: the pass post_grad_custom_post_pass, in graph 0, forward, "
        f"post-grad: sigmoid is wrong, off by {compared.off:.3g} from float64"
    )
