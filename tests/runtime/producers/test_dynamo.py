"""What torch.compile captures, and what its backends make of it, are listings."""

from __future__ import annotations

import bdb
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
import torch._dynamo as dynamo_
import torch._inductor.utils as inductor_utils

import fxls
from fxls.listing import How, Listing, Parent, ToClass, ToLine, ToParent
from fxls.runtime import finish
from fxls.store import Store, digest_of
from fxls.store.names import file_name
from tests.runtime.producers import torch_nets
from tests.runtime.producers.looking import (
    header,
    linked,
    listings_in,
    path_of,
    sources,
)
from tests.runtime.producers.torch_nets import Broken, Net
from tests.support.programs import needs_inductor

torch_compile: Any = cast("Any", torch).compile
dynamo: Any = dynamo_
counters: Any = dynamo_.utils.counters
fresh_cache: Any = cast("Any", inductor_utils).fresh_cache

pytestmark = [
    pytest.mark.slow,
    # torch's own, with Inductor: it uses names of torch that it means to remove.
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    # Also torch's own, behind a graph break.
    pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning"),
]


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    dynamo.reset()
    with fresh_cache():
        yield
    dynamo.reset()


def test_a_graph_with_a_breakpoint_of_pdb_is_not_compiled_away(store: Store) -> None:
    torch_compile(Net(), backend="eager")(torch.ones(2, 4))
    ((identity, listing),) = listings_in(store).items()
    path = store.path_of("Net", listing.text)
    dynamo.reset()
    there = bdb.Breakpoint(str(path), listing.nodes[-1].line + 1)
    try:
        torch_compile(Net(), backend="inductor")(torch.ones(2, 4))
    finally:
        there.deleteMe()
    assert list(listings_in(store)) == [identity], "what inductor makes is not made"


def test_graphs_breaks_and_recompilations_are_told_apart(store: Store) -> None:
    compiled = torch_compile(Broken(), backend="eager")
    compiled(torch.ones(2, 4))
    compiled(torch.ones(3, 4))
    found = listings_in(store)
    stages = ["graph 0", "graph 0, compilation 1", "graph 1", "graph 1, compilation 1"]
    assert list(found) == [("Broken", "torch.compile", stage) for stage in stages]
    first, again, second, _ = found.values()
    broken = [
        "It ends in a graph break: Call to `torch._dynamo.graph_break()`",
        "  Explanation: User-inserted graph break. Message: None",
        "  Hint: Remove the `torch._dynamo.graph_break()` call.",
        f"  At torch_nets.py, line {line_of('graph_break()')}, in forward.",
    ]
    mismatch = "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    assert header(first) == ["It is graph 0 of Broken.", *broken]
    assert header(again) == [
        "It is graph 0, compilation 1 of Broken.",
        "Compiled again because 0/0: " + mismatch,
        *broken,
    ]
    assert header(second) == ["It is graph 1 of Broken."]
    line = line_of("graph_break()")
    end = ToLine(str(Path(torch_nets.__file__)), line - 1)
    assert linked(first) == [
        ("Broken", ToClass()),
        (f"torch_nets.py, line {line}", end),
    ]
    assert linked(second) == [("Broken", ToClass())]
    assert [listing.parents for listing in found.values()] == [()] * 4
    linear = "self.linear(x)"
    assert sources(first) | {"l_x_": linear} == {
        "l_self_modules_linear_parameters_weight_": linear,
        "l_self_modules_linear_parameters_bias_": linear,
        "l_x_": linear,
        "linear": linear,
        "hidden": "torch.relu(self.linear(x))",
    }
    assert sources(second)["mul"] == "hidden * 2"
    assert [facts.value is not None for facts in first.nodes] == [True] * 5 + [False]


def test_parts_of_a_function_keep_their_numbers_when_torch_forgets_them(
    store: Store,
) -> None:
    x = torch.ones(2, 4)
    broken, net = (
        torch_compile(module, backend="eager") for module in (Broken(), Net())
    )
    broken(x)
    net(x)
    dynamo.reset()
    net(x)  # which torch now numbers as it did the first part of the other
    broken(x)
    assert [(name, stage) for name, _, stage in listings_in(store)] == [
        ("Broken", "graph 0"),
        ("Broken", "graph 1"),
        ("Net", "graph 0"),
    ]


def test_code_that_eager_runs_is_in_the_file(store: Store) -> None:
    seen: list[Any] = []

    def looking(gm: Any, inputs: list[Any]) -> Callable[..., Any]:
        seen.append(gm)
        return gm.forward

    torch_compile(Net(), backend=looking)(torch.ones(2, 4))
    finish()
    (newest,) = [store.newest(identity) for identity in store.identities()]
    assert newest is not None
    assert path_of(seen[0]) == newest.path


def test_a_graph_module_is_compiled_from_its_forward_on(store: Store) -> None:
    module = cast("Any", torch).fx.symbolic_trace(Net())
    compiled = torch_compile(module, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(2, 4)), module(torch.ones(2, 4)))
    assert list(listings_in(store)) == [
        ("Net", "torch.compile", "graph 0"),
        ("Net", "torch.fx", ""),
    ]


def test_what_a_users_backend_makes_is_a_listing_of_its_own(store: Store) -> None:
    def changing(gm: Any, inputs: list[Any]) -> Callable[..., Any]:
        changed = torch.fx.GraphModule(gm, gm.graph)
        for node in changed.graph.nodes:
            if node.target is torch.relu:
                node.target = torch.tanh
        changed.recompile()
        return changed.forward

    torch_compile(Net(), backend=changing)(torch.ones(2, 4))
    found = listings_in(store)
    assert [stage for _, _, stage in found] == ["graph 0", "graph 0, of the backend"]
    mine = found["Net", "torch.compile", "graph 0, of the backend"]
    assert "torch.tanh(" in mine.text
    assert "torch.relu(" not in mine.text
    captured = found["Net", "torch.compile", "graph 0"]
    file = store.path_of("Net", captured.text).name
    assert mine.parents == (Parent(captured.identity, file),)


@pytest.mark.parametrize(
    ("backend", "stages"),
    [
        ("aot_eager", {"graph 0", "graph 0, forward", "graph 0, backward"}),
        pytest.param(
            "inductor",
            {
                "graph 0",
                "graph 0, pre-grad",
                "graph 0, joint",
                "graph 0, forward",
                "graph 0, forward, post-grad",
                "graph 0, backward",
                "graph 0, backward, post-grad",
                "graph 0, forward, kernels",
                "graph 0, backward, kernels",
            },
            marks=needs_inductor,
        ),
    ],
)
@pytest.mark.parametrize("chosen", ["by name", "by option"])
def test_later_graphs_name_the_one_they_were_made_from(
    store: Store, backend: str, stages: set[str], chosen: str
) -> None:
    model, x = Net(), torch.ones(2, 4, requires_grad=True)
    if chosen == "by name":
        compiled = torch_compile(model, backend=backend)
    else:
        compiled = torch_compile(model, backend="fxls", options={"backend": backend})
    result = compiled(x)
    result.sum().backward()
    assert torch.allclose(result, model(x))
    found = listings_in(store)
    # That one is left by passes, and no step of the compiler begins with it.
    del found["Net", "torch.compile", "graph 0, traced"]
    assert {stage for _, _, stage in found} == stages
    captured = found.pop(("Net", "torch.compile", "graph 0"))
    for (_, _, stage), listing in found.items():
        # The code of inductor leads to the last graph, all others to the first.
        is_code = stage.endswith(", kernels")
        path = store.root / listing.parents[0 if is_code else -1].file
        # Inductor's own comments follow in its code.
        assert header(listing)[: 2 if is_code else None] == [
            f"It is {stage} of Net.",
            f"It was made from {path.name}.",
        ]
        assert linked(listing) == [
            ("Net", ToClass()),
            (path.name, ToParent(path.name)),
        ]
    found["Net", "torch.compile", "graph 0"] = captured
    assert {stage: lineage(stage, found) for _, _, stage in found} == {
        stage: [one for one in earlier if one in stages]
        for stage, earlier in LINEAGES.items()
        if stage in stages
    }
    assert [
        stage for (_, _, stage), one in found.items() if one.computes_gradients
    ] == [stage for _, _, stage in found if "backward" in stage]
    backward = found["Net", "torch.compile", "graph 0, backward"]
    assert "self.linear(x)" in sources(backward).values()


LINEAGES = {
    "graph 0": [],
    "graph 0, pre-grad": ["graph 0"],
    "graph 0, joint": ["graph 0, pre-grad", "graph 0"],
    "graph 0, forward": ["graph 0, joint", "graph 0, pre-grad", "graph 0"],
    "graph 0, backward": ["graph 0, joint", "graph 0, pre-grad", "graph 0"],
    "graph 0, forward, post-grad": [
        *("graph 0, forward", "graph 0, joint", "graph 0, pre-grad", "graph 0"),
    ],
    "graph 0, backward, post-grad": [
        *("graph 0, backward", "graph 0, joint", "graph 0, pre-grad", "graph 0"),
    ],
    "graph 0, forward, kernels": [
        *("graph 0, forward, post-grad", "graph 0, forward", "graph 0, joint"),
        *("graph 0, pre-grad", "graph 0"),
    ],
    "graph 0, backward, kernels": [
        *("graph 0, backward, post-grad", "graph 0, backward", "graph 0, joint"),
        *("graph 0, pre-grad", "graph 0"),
    ],
}


def lineage(stage: str, found: dict[tuple[str, str, str], Listing]) -> list[str]:
    """The stages of the listings that one was made from, which have its parents' files."""
    stages: list[str] = []
    for parent in found["Net", "torch.compile", stage].parents:
        listing = found["Net", "torch.compile", parent.identity.stage]
        assert (parent.identity, parent.how) == (listing.identity, How.PASSES)
        assert parent.file == file_name("Net", digest_of(listing.text.encode()))
        stages.append(parent.identity.stage)
    return stages


@needs_inductor
def test_graphs_that_torch_has_in_its_cache_are_found_in_the_store(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    x = torch.ones(2, 4, requires_grad=True)

    def compiled_anew(model: torch.nn.Module) -> None:
        dynamo.reset()
        torch_compile(model)(x).sum().backward()

    compiled_anew(Net())
    made = listings_in(store)
    # Another graph of the same name takes the place of the first, until it is back.
    other = Net()
    other.add_module("block", torch.nn.Identity())
    compiled_anew(other)
    changed = listings_in(store)
    assert {key for key in made if made[key].text == changed[key].text} == set()
    hits = counters["aot_autograd"]["autograd_cache_hit"]
    compiled_anew(Net())
    assert counters["aot_autograd"]["autograd_cache_hit"] == hits + 1
    assert listings_in(store) == made
    assert said(caplog) == []

    fxls.install(tmp_path / "another")
    compiled_anew(Net())
    compiled_anew(other)
    assert list(listings_in(Store(tmp_path / "another"))) == [
        ("Net", "torch.compile", "graph 0")
    ]
    (message,) = said(caplog)
    assert message == (
        "torch took graphs behind graph 0 of Net from its cache: they are no listings."
        " TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 lets it make them again."
    )


def test_a_compilation_is_reused_with_and_without_fxls(tmp_path: Path) -> None:
    graphs: list[Any] = []

    def counting(gm: Any, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(gm)
        return gm.forward

    compiled = torch_compile(Net(), backend=counting)
    x = torch.ones(2, 4)
    before = compiled(x)
    fxls.install(tmp_path)
    assert torch.equal(compiled(x), before)
    fxls.uninstall()
    assert torch.equal(compiled(x), before)
    assert len(graphs) == 1


def test_the_backend_is_found_by_its_name_and_installs_the_runtime(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "@torch.compile(backend='fxls')\n"
        "def doubled(x):\n"
        "    return x * 2\n"
        "assert doubled(torch.ones(2)).tolist() == [2.0, 2.0]\n",
        "utf-8",
    )
    (tmp_path / "pyproject.toml").touch()
    subprocess.run([sys.executable, program], check=True)
    found = listings_in(Store(tmp_path / ".fxls"))
    assert list(found) == [("doubled", "torch.compile", "graph 0")]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What fxls logged."""
    return [r.getMessage() for r in caplog.records if r.name == "fxls"]


def line_of(text: str) -> int:
    lines = Path(__file__).with_name("torch_nets.py").read_text("utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)
