"""Kernels of Triton, as torch writes them here: which nodes and lines they compute.

No GPU runs them: nothing is said of times, and none of what a GPU would do.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fxls.ide.listing.document import Document
from fxls.listing import Facts, Listing
from fxls.store import Store
from fxls.text import LineTable, Point
from tests.runtime.inductor import compile_triton
from tests.support.programs import needs_inductor

pytestmark = [pytest.mark.slow, needs_inductor]

ROOT = Path(__file__).parents[3]
PROGRAM = Path(compile_triton.__file__)


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Listing:
    folder = tmp_path_factory.mktemp("triton")
    subprocess.run(
        [sys.executable, "-m", compile_triton.__name__, str(folder)],
        check=True,
        cwd=ROOT,
        timeout=300,
    )
    store = Store(folder)
    (code,) = (one for one in store.identities() if one.stage.endswith(", kernels"))
    newest = store.newest(code)
    assert newest is not None
    return store.read_revision(newest)


def calls(listing: Listing) -> list[tuple[int, Facts]]:
    return [
        (node, facts)
        for node, facts in enumerate(listing.nodes)
        if facts.opcode == "call_kernel"
    ]


def test_each_call_computes_its_nodes_and_reads_and_writes_its_buffers(
    listing: Listing,
) -> None:
    def names(pieces: tuple[str | int, ...]) -> str:
        return "".join(
            one if isinstance(one, str) else listing.nodes[one].name for one in pieces
        )

    assert [
        (
            facts.name,
            facts.made_from,
            [names(one) for one in facts.args],
            [names(one) for _, one in facts.kwargs],
        )
        for _, facts in calls(listing)
    ] == [
        (
            "triton_poi_fused_add_relu_0:1",
            ("add", "relu"),
            ["triton_poi_fused_add_relu_0", "arg0_1", "128", "stream=raw_streamNone"],
            ["buf0"],
        ),
        ("extern_kernels.mm:2", ("mm",), ["buf0", "arg1_1"], ["buf1"]),
        (
            "triton_poi_fused__softmax_1:3",
            ("amax", "sub", "exp"),
            ["triton_poi_fused__softmax_1", "buf1", "32", "stream=raw_streamNone"],
            ["buf2"],
        ),
        (
            "triton_poi_fused__softmax_add_relu_2:4",
            ("sum_1", "div", "add_1", "relu_1"),
            [
                "triton_poi_fused__softmax_add_relu_2",
                "buf2",
                "32",
                "stream=raw_streamNone",
            ],
            ["buf3"],
        ),
    ]


def test_each_call_came_from_the_expressions_of_the_model_that_it_computes(
    listing: Listing,
) -> None:
    lines = LineTable(PROGRAM.read_text("utf-8"))
    found = {
        facts.name.partition(":")[0]: [
            lines.slice(origin.places[0].span) for origin in listing.origins(node)
        ]
        for node, facts in calls(listing)
    }
    softmax = "(sums @ weight).softmax(-1)"
    assert found == {
        "triton_poi_fused_add_relu_0": ["torch.relu(signal + 1)", "signal + 1"],
        "extern_kernels.mm": ["sums @ weight"],
        "triton_poi_fused__softmax_1": [softmax],
        "triton_poi_fused__softmax_add_relu_2": [
            "torch.relu(scores + 1)",
            "scores + 1",
            softmax,
        ],
    }


def test_all_lines_of_a_kernel_of_triton_are_the_kernel(listing: Listing) -> None:
    document = Document("/store/Net_0.py", listing)
    text = listing.text.split("\n")
    kernels = [
        (node, facts)
        for node, facts in enumerate(listing.nodes)
        if facts.opcode == "kernel"
    ]
    assert [facts.target for _, facts in kernels] == ["async_compile.triton"] * 3
    for node, facts in kernels:
        body = next(
            line
            for line in range(facts.line, len(text))
            if text[line].startswith(f"def {facts.name}(")
        )
        touched = document.touched(Point(body + 1, 4))
        assert touched is not None
        assert (touched.node, document.last_line(node) > body) == (node, True)
