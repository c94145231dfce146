"""What `fxls run --times` measured, as an editor shows it: hints, hovers, rows and colours.

The numbers are those of `fxls runs --json`; a node that shares a kernel says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.store import Store
from tests.support.lsp_client import LspClient, started
from tests.support.programs import needs_inductor
from tests.support.projects import EDITOR

Json = Any

pytestmark = [pytest.mark.slow, needs_inductor]

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, signal):
        sums = torch.relu(signal * self.weight)
        gate = sums + 1
        return gate @ self.weight


compiled = torch.compile(Net())
for _ in range(4):
    compiled(torch.ones(4, 4)).sum().backward()
"""
FUSED, PRODUCT = "cpp_fused_add_mul_relu_0:1", "extern_kernels.mm:2"
OF_WEIGHT = "extern_kernels.mm:1"
BACK = "cpp_fused_mul_relu_threshold_backward_0:2"
LAST = "extern_kernels.addmm:3"


class Measured(NamedTuple):
    """A client, the program, its listings by their stages, and what was measured."""

    client: LspClient
    program: Path
    listings: dict[str, Path]
    seconds: dict[str, float]
    """Of one call, by the name of the call."""
    whole: dict[str, float]
    """Of one call of the code, by its stage."""

    def hints(self, path: Path) -> list[tuple[int, str]]:
        """The hints that are times, with their lines from one on."""
        lines = path.read_text("utf-8").split("\n")
        asked = {
            "textDocument": {"uri": path.as_uri()},
            "range": {
                "start": {"line": 0, "character": 0},
                "end": {"line": len(lines), "character": 0},
            },
        }
        found: list[tuple[int, str]] = []
        hints: list[Json] = self.client.request("textDocument/inlayHint", asked)
        for hint in hints:
            line: int = hint["position"]["line"]
            if " ms" in hint["label"]:
                assert hint["position"]["character"] == len(lines[line])
                found.append((line + 1, hint["label"].strip()))
        return sorted(found)

    def edit(self, text: str) -> None:
        """Let the editor, and the disk, have another text of the program."""
        self.program.write_text(text, "utf-8")
        item = {"uri": self.program.as_uri(), "version": len(text)}
        changes = [{"text": text}]
        params = {"textDocument": item, "contentChanges": changes}
        self.client.notify("textDocument/didChange", params)

    def ms(self, *calls: str) -> str:
        """The time of some calls together."""
        return f"{sum(self.seconds[one] for one in calls) * 1e3:,.3f} ms"

    def share(self, call: str, stage: str) -> str:
        return f"{self.ms(call)}, {self.seconds[call] / self.whole[stage] * 100:.0f} %"

    def by_name(self, stage: str) -> dict[str, str]:
        """The hints of a graph, by the node that a line binds."""
        path = self.listings[stage]
        lines = path.read_text("utf-8").split("\n")
        return {
            lines[line - 1].strip().partition(" ")[0].rstrip(":"): said
            for line, said in self.hints(path)
        }

    def times(self, stage: str) -> Json:
        return self.client.request("fxls/times", {"uri": self.listings[stage].as_uri()})

    def names(self, stage: str) -> list[str]:
        asked = {"uri": self.listings[stage].as_uri()}
        return [
            one["name"] for one in self.client.request("fxls/graph", asked)["nodes"]
        ]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    folder = tmp_path_factory.mktemp("times").resolve()
    program = folder / "net.py"
    program.write_text(PROGRAM, "utf-8")
    (folder / "pyproject.toml").touch()

    def fxls(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "fxls", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache},
        ).stdout

    # Not below `folder`, which may have a blank: inductor could not build there.
    with tempfile.TemporaryDirectory() as cache:
        fxls("run", "--times", str(program))
        kernels = json.loads(fxls("runs", "-1", "--json"))["kernels"]
        # What is measured stays, also when the newest run measured nothing.
        fxls("run", str(program))
    store = Store(folder / ".fxls")
    paths = {
        one.stage: newest.path
        for one in store.identities()
        if (newest := store.newest(one))
    }
    seconds = {one["call"]: one["seconds"] / one["calls"] for one in kernels}
    whole = {one["stage"]: one["of_seconds"] / one["calls"] for one in kernels}
    with started() as client:
        client.initialize(folder, capabilities=EDITOR)
        yield Measured(client, program, paths, seconds, whole)
        client.end()


def test_a_line_of_the_model_has_the_time_of_its_kernels_and_says_what_it_shares(
    measured: Measured,
) -> None:
    fused, last = measured.ms(FUSED), measured.ms(LAST)
    shared = f"{measured.ms(FUSED, LAST)} in 2 kernels shared with 2 lines"
    own = f"{measured.ms(PRODUCT, OF_WEIGHT)} in 2 kernels"
    assert measured.hints(measured.program) == [
        (10, f"{measured.ms(BACK)} in 1 kernel; {shared}"),
        (11, f"{fused} in 1 kernel shared with line 10"),
        (12, f"{own}; {last} in 1 kernel shared with line 10"),
    ]


def test_a_line_that_was_edited_has_no_time_and_the_others_keep_theirs(
    measured: Measured,
) -> None:
    text = "# first\n" + PROGRAM.replace("gate = sums + 1", "gate = sums + 2", 1)
    program = measured.program
    measured.client.open(program)
    before = measured.hints(program)
    try:
        measured.edit(text)
        after = measured.hints(program)
    finally:
        measured.edit(PROGRAM)
    shared = f"{measured.ms(FUSED, LAST)} in 2 kernels shared with 2 lines"
    assert after == [
        (11, f"{measured.ms(BACK)} in 1 kernel; {shared}"),
        (13, before[2][1].replace("line 10", "line 11")),
    ]
    assert measured.hints(program) == before


def test_a_kernel_has_its_time_where_it_is_called_and_where_its_text_stands(
    measured: Measured,
) -> None:
    stage = "graph 0, forward, kernels"
    lines = measured.listings[stage].read_text("utf-8").split("\n")
    said = {
        lines[line - 1].split("(")[0].strip(): hint
        for line, hint in measured.hints(measured.listings[stage])
    }
    assert said == {
        "cpp_fused_add_mul_relu_0 = async_compile.cpp_pybinding": (
            f"{measured.ms(FUSED)} in 1 call"
        ),
        "def call": said["def call"],
        "cpp_fused_add_mul_relu_0": measured.share(FUSED, stage),
        "extern_kernels.mm": measured.share(PRODUCT, stage),
    }
    each = f"{measured.whole[stage] * 1e3:,.3f} ms each in 2 calls, "
    assert said["def call"].startswith(each)
    assert said["def call"].endswith(" ms when nobody looks at its lines")


@pytest.mark.parametrize("stage", ["graph 0, forward", "graph 0, forward, post-grad"])
def test_a_node_has_the_time_of_its_kernel_which_it_may_share(
    measured: Measured, stage: str
) -> None:
    shared = f"{measured.ms(FUSED)}, shared by 3 nodes"
    assert measured.by_name(stage) == {
        "mul": shared,
        "relu": shared,
        "add": shared,
        "mm": measured.ms(PRODUCT),
    }


def test_a_node_as_it_was_captured_has_the_kernels_of_forward_and_backward(
    measured: Measured,
) -> None:
    two = "in 2 kernels"
    assert measured.by_name("graph 0") == {
        "mul": f"{measured.ms(FUSED, BACK, LAST)} in 3 kernels, "
        "all of them shared with other nodes",
        "sums": f"{measured.ms(FUSED, BACK)} {two}, all of them shared with other nodes",
        "gate": f"{measured.ms(FUSED)}, shared by 3 nodes",
        "matmul": f"{measured.ms(PRODUCT, OF_WEIGHT, LAST)} in 3 kernels, "
        "1 of them shared with other nodes",
    }


def test_a_picture_has_the_kernels_each_once_with_the_nodes_that_share_it(
    measured: Measured,
) -> None:
    stage = "graph 0, forward, post-grad"
    names, times = measured.names(stage), measured.times(stage)

    def nanoseconds(call: str) -> int:
        return round(measured.seconds[call] * 1e9)

    assert [
        ({names[at] for at in one["nodes"]}, one["nanoseconds"], one["sharedBy"])
        for one in times["kernels"]
    ] == [
        ({"mul", "relu", "add"}, nanoseconds(FUSED), 3),
        ({"mm"}, nanoseconds(PRODUCT), 1),
    ]
    assert {
        name: time
        for name, time in zip(names, times["nanoseconds"], strict=True)
        if time
    } == {
        **dict.fromkeys(("mul", "relu", "add"), nanoseconds(FUSED)),
        "mm": nanoseconds(PRODUCT),
    }
    assert {*times} == {"kernels", "nanoseconds", "calls"}
    assert times["calls"] == 2


def test_a_graph_whose_kernels_no_run_measured_says_what_to_do(
    measured: Measured,
) -> None:
    assert measured.times("graph 0, traced") == {
        "problem": "No run has measured the kernels of this graph: run the program with "
        "`fxls run --times`, such that it calls the compiled function at least twice."
    }


def test_rows_are_sorted_by_time_and_say_what_is_shared(measured: Measured) -> None:
    uri = measured.listings["graph 0, forward, post-grad"].as_uri()
    asked = {"uri": uri, "sort": "time", "descending": True}
    rows = measured.client.request("fxls/table", asked)["rows"]
    timed = [one for one in rows if "nanoseconds" in one]
    assert rows[: len(timed)] == timed
    assert {one["name"]: one.get("shared", False) for one in timed} == {
        "mul": True,
        "relu": True,
        "add": True,
        "mm": False,
    }
    found = [one["nanoseconds"] for one in timed]
    assert found == sorted(found, reverse=True)


def test_hovers_say_how_long_kernels_take(measured: Measured) -> None:
    stage = "graph 0, forward, kernels"
    code, graph = (
        measured.listings[stage],
        measured.listings["graph 0, forward, post-grad"],
    )

    def took(path: Path, begins: str) -> list[str]:
        lines = path.read_text("utf-8").split("\n")
        at = next(i for i, one in enumerate(lines) if one.strip().startswith(begins))
        column = len(lines[at]) - len(lines[at].lstrip())
        card = measured.client.ask("hover", path, at, column)["contents"]["value"]
        plain = card.replace("*", "").replace("\\", "").split("\n")
        return [one.partition("took: ")[2] for one in plain if "took: " in one]

    mean = ", the mean of 2 calls"
    assert took(code, "cpp_fused_add_mul_relu_0(") == [
        measured.share(FUSED, stage) + mean
    ]
    assert took(code, "cpp_fused_add_mul_relu_0 =") == [
        measured.share(FUSED, stage) + mean
    ]
    assert took(graph, "relu =") == [f"{measured.ms(FUSED)}, shared by 3 nodes{mean}"]
    card = measured.client.ask("hover", measured.program, 11, 20)["contents"]["value"]
    assert f"({measured.share(PRODUCT, stage)})" in card.replace("\\", "")


SIZES = """\
import torch


def scaled(signal):
    return torch.relu(signal * 3)


compiled = torch.compile(scaled, dynamic=False)
for size in (4, 8, 8, 8, 8, 8, 8, 4, 4):
    compiled(torch.ones(size, 4))
"""


def test_of_two_compilations_a_line_has_the_time_of_the_most_used_and_each_graph_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    program = tmp_path / "sizes.py"
    program.write_text(SIZES, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "fxls", "run", "--times", str(program)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=300,
        env=os.environ | GRAPHS_ANEW,
    )
    store = Store(tmp_path / ".fxls")
    listings = {
        one.stage: newest.path
        for one in store.identities()
        if (newest := store.newest(one))
    }
    seconds = kernel_seconds(tmp_path)
    assert set(seconds) == {
        "graph 0, forward, kernels",
        "graph 0, compilation 1, forward, kernels",
    }
    with started() as client:
        client.initialize(tmp_path, EDITOR)
        client.open(program)
        seen = Measured(client, program, listings, {}, {})
        often = seconds["graph 0, compilation 1, forward, kernels"]
        assert seen.hints(program) == [
            (
                5,
                f"{often * 1e3:,.3f} ms in 1 kernel, in compilation 1, the most used of 2",
            )
        ]
        for graph, spent in (
            ("graph 0", seconds["graph 0, forward, kernels"]),
            ("graph 0, compilation 1", often),
        ):
            assert {said.split(" ")[0] for _, said in seen.hints(listings[graph])} == {
                f"{spent * 1e3:,.3f}"
            }


def kernel_seconds(folder: Path) -> dict[str, float]:
    """How long the one kernel of each code takes, by the stage of the code."""
    asked = [sys.executable, "-m", "fxls", "runs", "-1", "--json"]
    said = subprocess.run(
        asked, cwd=folder, check=True, capture_output=True, timeout=300
    ).stdout
    return {
        one["stage"]: one["seconds"] / one["calls"]
        for one in json.loads(said)["kernels"]
    }
