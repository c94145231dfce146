"""From an expression of the model to its kernels and back, as an editor shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from fxls.listing import Listing
from fxls.store import Store
from tests.support.lsp_client import LspClient, started
from tests.support.programs import needs_inductor
from tests.support.projects import EDITOR, spot

Json = Any

pytestmark = [pytest.mark.slow, needs_inductor]

PROGRAM = """\
import torch


class Net(torch.nn.Module):
    def forward(self, signal):
        sums = torch.relu(signal + 1)
        return sums.t() @ signal


with torch.no_grad():
    torch.compile(Net())(torch.ones(4, 4))
"""
RELU, ADD = spot(5, 15, 37), spot(5, 26, 36)


FROM_RELU_AND_ADD = [
    "from net.py:6 in Net.forward",
    "python",
    "sums = torch.relu(signal + 1)",
    "also from net.py:6 in Net.forward",
    "python",
    "sums = torch.relu(signal + 1)",
]


class Shown(NamedTuple):
    """A client, the program, and the listings of the last graph and of the code."""

    client: LspClient
    program: Path
    graph: Path
    code: Path
    listing: Listing

    def on(self, name: str) -> tuple[Path, int, int]:
        """The first mark of a node of the code."""
        mark = self.listing.marks_of(self.node(name))[0]
        return self.code, mark.line, mark.column

    def node(self, name: str) -> int:
        return [facts.name for facts in self.listing.nodes].index(name)

    def hover(self, path: Path, line: int, column: int) -> list[str]:
        """The lines of a hover, a link without where it leads."""
        said = self.client.ask("hover", path, line, column)["contents"]["value"]
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", said).replace("\\", "")
        lines = (
            line.strip(" -").replace("`", "").replace("**", "")
            for line in text.split("\n")
        )
        return [line for line in lines if line]

    def leads_to(self, method: str, *place: Any) -> list[tuple[Path, Json]]:
        """Where a jump ends: the files, and the places in them."""
        return [
            (
                Path(unquote(one["targetUri"].removeprefix("file://"))),
                one["targetSelectionRange"],
            )
            for one in self.client.ask(method, *place) or ()
        ]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("kernels").resolve()
    program = folder / "net.py"
    program.write_text(PROGRAM, "utf-8")
    (folder / "pyproject.toml").touch()
    # Not below `folder`, which may have a blank: inductor could not build there.
    with tempfile.TemporaryDirectory() as cache:
        subprocess.run(
            [sys.executable, "-m", "fxls", "run", str(program)],
            cwd=folder,
            check=True,
            timeout=300,
            env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache},
        )
    store = Store(folder / ".fxls")
    paths = {one.stage: store.newest(one) for one in store.identities()}
    graph, code = (
        paths["graph 0, forward, post-grad"],
        paths["graph 0, forward, kernels"],
    )
    assert graph is not None
    assert code is not None
    with started() as client:
        client.initialize(folder, capabilities=EDITOR)
        yield Shown(client, program, graph.path, code.path, store.read_revision(code))
        client.end()


def test_a_kernel_says_what_it_computes_and_where_it_is_called(shown: Shown) -> None:
    assert shown.hover(*shown.on("cpp_fused_add_relu_0")) == [
        "cpp_fused_add_relu_0: kernel in C++, 1 call",
        "called: cpp_fused_add_relu_0:1",
        "computes: add, relu",
        *FROM_RELU_AND_ADD,
    ]


def test_all_of_the_text_of_a_kernel_says_what_it_computes(shown: Shown) -> None:
    kernel = shown.node("cpp_fused_add_relu_0")
    first = shown.listing.nodes[kernel].line
    lines = shown.listing.text.split("\n")
    last = next(at for at in range(first, len(lines)) if lines[at] == "''')")
    card = shown.hover(*shown.on("cpp_fused_add_relu_0"))
    for at in range(first, last + 1):
        assert shown.hover(shown.code, at, len(lines[at])) == card
    assert shown.leads_to("implementation", shown.code, last - 1, 0) == [
        (shown.program, RELU),
        (shown.program, ADD),
    ]
    graph = shown.client.request("fxls/graph", {"uri": shown.code.as_uri()})
    assert graph["nodes"][kernel]["endLine"] == last
    assert [(one["name"], one.get("computes")) for one in graph["nodes"]] == [
        ("arg0_1", None),
        ("buf0", ["relu"]),
        ("buf1", ["mm"]),
        ("cpp_fused_add_relu_0", ["add", "relu"]),
        ("cpp_fused_add_relu_0:1", ["add", "relu"]),
        ("extern_kernels.mm:2", ["mm"]),
    ]


def test_a_call_says_its_inputs_outputs_and_bytes(shown: Shown) -> None:
    assert shown.hover(*shown.on("cpp_fused_add_relu_0:1")) == [
        "cpp_fused_add_relu_0:1: call of cpp_fused_add_relu_0",
        "computes: add, relu",
        "inputs: arg0_1, 64 bytes",
        "outputs: buf0 → f32[4, 4], 64 bytes",
        *FROM_RELU_AND_ADD,
    ]
    assert shown.hover(*shown.on("extern_kernels.mm:2"))[:4] == [
        "extern_kernels.mm:2: call of extern_kernels.mm",
        "computes: mm",
        "inputs: reinterpret_tensor(buf0, (4, 4), (1, 4), 0), arg0_1, 128 bytes",
        "outputs: buf1 → f32[4, 4], 64 bytes",
    ]


def test_a_buffer_says_which_node_it_holds(shown: Shown) -> None:
    assert shown.hover(*shown.on("buf0"))[:5] == [
        "buf0: buffer → f32[4, 4]",
        "holds: relu",
        "made by: empty_strided_cpu (4, 4), (4, 1), torch.float32",
        "written by: cpp_fused_add_relu_0:1",
        "read by: extern_kernels.mm:2",
    ]


def test_a_call_leads_to_the_expressions_that_it_computes(shown: Shown) -> None:
    at = shown.on("cpp_fused_add_relu_0:1")
    assert shown.leads_to("definition", *at) == [(shown.program, RELU)]
    assert shown.leads_to("implementation", *at) == [
        (shown.program, RELU),
        (shown.program, ADD),
    ]


def test_an_expression_leads_to_its_kernels(shown: Shown) -> None:
    found = shown.leads_to("implementation", shown.program, 5, 33)
    mark = shown.listing.marks_of(shown.node("cpp_fused_add_relu_0:1"))[0]
    end = mark.column + mark.length
    assert [place for path, place in found if path == shown.code] == [
        spot(mark.line, mark.column, end)
    ]
    reason = "inductor calls extern_kernels.mm, and fuses nothing into it"
    assert shown.hover(shown.program, 5, 33) == [
        f"torch.compile: Not fused: relu and mm: {reason}",
        "nodes: relu and mm",
        "in 1 compilation: 0/0",
        "the other one is here, in Net.forward: net.py:7",
        "1 node of Net, torch.compile, graph 0",
        "add: call_function operator.add → f32[4, 4]",
        "In other stages:",
        "pre-grad: 1 node",
        "traced: 1 node",
        "joint: 1 node",
        "forward: 1 node",
        "forward, post-grad: 1 node",
        "forward, kernels: cpp_fused_add_relu_0:1",
    ]


def test_a_node_names_its_kernel_and_a_view_says_that_it_has_none(shown: Shown) -> None:
    text = shown.graph.read_text("utf-8").split("\n")
    said: dict[str, list[str]] = {}
    for name in ("add", "relu", "permute", "mm"):
        at = next(
            i for i, one in enumerate(text) if one.strip().startswith(f"{name} =")
        )
        card = shown.hover(shown.graph, at, 4)
        said[name] = [one for one in card if one.startswith("kernel")]
    assert said == {
        "add": ["kernel: cpp_fused_add_relu_0:1"],
        "relu": ["kernel: cpp_fused_add_relu_0:1"],
        "permute": ["kernel: none, because it is a view"],
        "mm": ["kernel: extern_kernels.mm:2"],
    }


def test_from_the_command_line_a_line_ends_at_its_kernels(shown: Shown) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "fxls", "passes", "--became", "net.py:7"],
        cwd=shown.program.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    line = shown.on("extern_kernels.mm:2")[1] + 1
    assert ended.stdout.split("graph 0, forward, kernels  ")[1].split("\n")[1:] == [
        f"  extern_kernels.mm:2, extern_kernels.mm in line {line}",
        "  no kernel: permute (view)",
        "",
    ]


def test_a_run_lists_its_kernels_with_their_lines(shown: Shown) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "fxls", "runs", "-1"],
        cwd=shown.program.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    first, second = (
        shown.on(name)[1] + 1
        for name in ("cpp_fused_add_relu_0:1", "extern_kernels.mm:2")
    )
    assert ended.stdout.split("\n")[-4:] == [
        f"0/0  Net graph 0, forward, kernels  {shown.code.name}",
        f"  cpp_fused_add_relu_0:1, line {first}: add, relu, from net.py:6",
        f"  extern_kernels.mm:2, line {second}: mm, from net.py:7",
        "",
    ]
