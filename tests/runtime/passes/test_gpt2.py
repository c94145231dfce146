"""A training step of GPT-2 under inductor: all that its passes did, and nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import fxls
from fxls.listing import Listing
from fxls.record import Made, Pass, RevisionName
from fxls.record.became import Expression, what_became
from fxls.record.first_pass import Asked, Found, Question, first_passes
from fxls.store import Store
from tests.runtime.passes.conftest import heard
from tests.runtime.passes.watching import Gpt, Watching, passes_alone
from tests.support.programs import needs_inductor

any_torch: Any = torch
aten: Any = any_torch.ops.aten
config: Any = importlib.import_module("torch._inductor.config")
utils: Any = importlib.import_module("torch._inductor.utils")

pytestmark = [
    pytest.mark.slow,
    # torch's own, with Inductor: it uses names of torch that it means to remove.
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]


class Theirs(torch.nn.Module):
    """GPT-2 of transformers, and small."""

    def __init__(self) -> None:
        super().__init__()
        transformers: Any = importlib.import_module("transformers")
        small = {"n_layer": 2, "n_embd": 32, "n_head": 2, "n_positions": 16}
        given = transformers.GPT2Config(vocab_size=11, use_cache=False, **small)
        self.model = transformers.GPT2LMHeadModel(given)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        logits = self.model(words).logits
        return torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), words[:, 1:].flatten()
        )


OURS = pytest.param(Gpt, passes_alone, id="ours, passes alone")
THEIRS = pytest.param(
    Theirs,
    "inductor",
    id="transformers",
    marks=[
        needs_inductor,
        # It looks at the gradients of what is no leaf, where warnings are errors.
        pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning"),
        pytest.mark.skipif(
            find_spec("transformers") is None, reason="transformers is not installed"
        ),
    ],
)
COMPILED = pytest.param(Gpt, "inductor", id="ours", marks=needs_inductor)

Model = Callable[[], Callable[[torch.Tensor], torch.Tensor]]


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    any_torch.compiler.reset()
    yield
    any_torch.compiler.reset()


def trained_once(model: Model, backend: Any) -> float:
    any_torch.compiler.reset()
    any_torch.manual_seed(0)
    with utils.fresh_cache():
        run = any_torch.compile(model(), backend=backend)
        loss = run(torch.arange(16).view(2, 8) % 11)
        loss.backward()
    return float(loss.detach())


def read(store: Store, name: RevisionName) -> Listing:
    return store.read(store.root / name.text)


def code_in(text: str) -> str:
    return text.partition("\n\n\n")[2].strip()


@pytest.mark.parametrize(("model", "backend"), [OURS, COMPILED, THEIRS])
def test_each_changing_pass_is_a_revision_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, backend: Any
) -> None:
    watching = Watching(monkeypatch)
    texts: dict[str, dict[str, str]] = {}
    losses: list[float] = []
    passes: list[Pass] = []
    for recorded in ("", "recorded"):
        watching.changed.clear()
        monkeypatch.setenv("FXLS_RECORD", "1" if recorded else "0")
        fxls.install(tmp_path / f"store{recorded}")
        if recorded:
            passes = heard(monkeypatch).passes
        losses.append(trained_once(model, backend))
        fxls.uninstall()
        files = (tmp_path / f"store{recorded}").glob("*.py")
        texts[recorded] = {file.name: file.read_text("utf-8") for file in files}
    assert losses[0] == losses[1]
    store = Store(tmp_path / "storerecorded")
    changed = [one for one in passes if one.changed]
    assert [one.name for one in changed] == [name for name, _ in watching.changed]
    assert len(changed) > 10
    for one, (_, code) in zip(changed, watching.changed, strict=True):
        assert one.after is not None
        text = texts["recorded"][one.after.text]
        assert code_in(text) == code.strip()
    # All other listings are what they are without a record, byte by byte.
    revisions = {
        name.text
        for one in passes
        for name in (one.before, one.after)
        if name is not None
    }
    # The head of inductor's code names the graph that it was made from, which a pass
    # may have changed.
    code = {
        revision.path.name
        for one in (store, Store(tmp_path / "store"))
        for identity in one.identities()
        if identity.stage.endswith(", kernels")
        for revision in one.revisions(identity)
    }
    plain = {name: text for name, text in texts[""].items() if name not in code}
    more = texts["recorded"].keys() - code - plain.keys()
    assert more == revisions - plain.keys()
    assert {n: t for n, t in texts["recorded"].items() if n in plain} == plain
    # Every node that a pass made leads to an expression of the model.
    for one in changed:
        assert one.after is not None
        listing = read(store, one.after)
        index = {facts.name: at for at, facts in enumerate(listing.nodes)}
        for name in one.created.first:
            facts = listing.nodes[index[name]]
            assert facts.passes, (one.name, name)
            if facts.made_from:
                assert listing.origin(index[name]) is not None, (one.name, name)


class Planted:
    """Three passes of a user's, and what each of them did."""

    def __init__(self) -> None:
        self.removed = self.swapped = self.moved = ("", "")

    def removes(self, graph: Any) -> None:
        """One addition of two values, of the forward."""
        if not self.removed[0] and _is_forward(graph):
            node = _first(graph, aten.add.Tensor)
            self.removed = node.name, node.args[0].name
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)

    def swaps(self, graph: Any) -> None:
        """The two arguments of a subtraction."""
        if not self.swapped[0]:
            node = _first(graph, aten.sub.Tensor)
            first, second = node.args
            self.swapped = node.name, f"({second.name}, {first.name})"
            node.args = (second, first)

    def moves(self, graph: Any) -> None:
        """A node behind the next one, which does not use it."""
        if self.moved[0] or not _is_forward(graph):
            return
        for node in graph.nodes:
            follower = node.next
            if node.op == follower.op == "call_function" and node not in (
                follower.all_input_nodes
            ):
                self.moved = node.name, follower.name
                follower.append(node)
                return


def _is_forward(graph: Any) -> bool:
    return not any(node.name.startswith("tangents") for node in graph.nodes)


def _first(graph: Any, target: Any) -> Any:
    return next(
        node
        for node in graph.nodes
        if node.target is target and len(node.all_input_nodes) == 2
    )


@pytest.mark.parametrize(("model", "backend"), [OURS, THEIRS])
def test_passes_that_were_planted_are_found_and_each_line_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, backend: Any
) -> None:
    planted = Planted()
    lines: dict[str, dict[str, str]] = {}
    """Of what inductor is left with: by node, what torch says of its origin."""

    def look(graph: Any) -> None:
        planted.removes(graph)
        stage = "forward" if _is_forward(graph) else "backward"
        lines[f"graph 0, {stage}, post-grad"] = {
            node.name: node.meta["stack_trace"]
            for node in graph.nodes
            if node.op == "call_function" and node.meta.get("stack_trace")
        }

    fxls.install(tmp_path / "store")
    passes = heard(monkeypatch).passes
    given = {
        "post_grad_custom_post_pass": look,
        "joint_custom_post_pass": planted.swaps,
        "post_grad_custom_pre_pass": planted.moves,
    }
    with config.patch(given):
        trained_once(model, backend)
    fxls.uninstall()
    store = Store(tmp_path / "store")

    def asked(kind: Asked, what: str, stage: str, among: list[Pass] = passes) -> Found:
        answer = first_passes(among, Question(kind, what), lambda n: read(store, n))
        assert (answer.unread, answer.is_known) == (0, True)
        return next(one for one in answer.found if one.ran.stage == stage)

    forward = "graph 0, forward, post-grad"
    gone = asked(Asked.GONE, planted.removed[0], forward)
    assert gone.ran.name == "post_grad_custom_post_pass"
    assert gone.reason == f"is replaced by {planted.removed[1]}"
    mine = [one for one in passes if one.name == "joint_custom_post_pass"]
    assert [one.altered.first for one in mine if one.changed] == [(planted.swapped[0],)]
    swapped = asked(Asked.ALTERED, planted.swapped[0], "graph 0, joint", mine)
    assert swapped.reason.startswith(f"has {planted.swapped[1]} and not (")
    moved = asked(Asked.MOVED, planted.moved[0], forward)
    assert moved.ran.name == "post_grad_custom_pre_pass"
    assert moved.reason == f"stands behind {planted.moved[1]}"

    # A line leads to all nodes of which torch says that they come from it.
    tried = 0
    for identity in store.identities():
        newest = store.newest(identity)
        if identity.stage in lines and newest is not None:
            listing = store.read(newest.path)
            tried += follow(lines[identity.stage], listing, newest.path.name)
    assert tried > 10


def follow(traces: dict[str, str], listing: Listing, file: str) -> int:
    """Ask for each line that torch names, as if the run had made one graph."""
    event = Made(RevisionName(listing.identity, file))
    left = {facts.name for facts in listing.nodes}  # by the passes that came after
    traces = {name: trace for name, trace in traces.items() if name in left}
    # torch gives what a pass made of several nodes the trace of one of them.
    made = {
        facts.name
        for node, facts in enumerate(listing.nodes)
        if facts.passes and len(listing.origins(node)) > 1
    }
    asked = {_places(trace)[-1] for trace in traces.values()}
    for path, line in asked:
        found = what_became([event], Expression(path, line - 1), lambda _: listing)
        (stage,) = found.stages
        names = {facts.name for facts in stage.nodes}
        of = {name for name, trace in traces.items() if (path, line) in _places(trace)}
        assert of <= names, (path, line)
        assert {name for name in names - of if name in traces} <= made, (path, line)
    return len(asked)


def _places(trace: str) -> list[tuple[str, int]]:
    """The file and line of each frame of a stack trace, outermost first."""
    frames = [
        line.strip() for line in trace.splitlines() if line.lstrip().startswith("File ")
    ]
    parts = [frame.split('"') for frame in frames]
    return [(part[1], int(part[2].split("line ")[1].split(",")[0])) for part in parts]
