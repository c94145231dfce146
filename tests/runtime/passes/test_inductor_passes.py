"""The passes of inductor, and those that a user gives to it, each as a revision."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch.nn import functional

import fxls
from fxls.first_pass import Asked, Found, Question, first_passes
from fxls.listing import Listing
from fxls.record import Pass, RevisionName
from fxls.runtime import finish
from fxls.runtime.passes.observed_passes import OUTSIDE
from fxls.store import Store
from tests.runtime.passes.conftest import heard
from tests.support.programs import needs_inductor

any_torch: Any = torch
aten: Any = any_torch.ops.aten
config: Any = importlib.import_module("torch._inductor.config")
compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")

pytestmark = [
    pytest.mark.slow,
    # torch's own, with Inductor: it uses names of torch that it means to remove.
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    utils: Any = importlib.import_module("torch._inductor.utils")
    any_torch.compiler.reset()
    with utils.fresh_cache():
        yield
    any_torch.compiler.reset()


class Sums(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = x.sin() + 1.5
        b = (y.cos() - a) * 3.0
        return (b + a + 2.5).relu()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        a = (q @ k.transpose(-2, -1) / 4.0).softmax(-1) @ v
        return x + self.dropout(self.out(functional.gelu(a)))


class Gpt(nn.Module):
    """A language model as small as its passes are many."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.places = nn.Embedding(8, 16)
        self.blocks = nn.Sequential(Attention(), Attention())
        self.head = nn.Linear(16, 11, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        logits = self.head(self.blocks(x))
        return functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), words[:, 1:].flatten()
        )


def call(graph: Any, target: Any, constant: object = None) -> Any:
    """The node that calls a target, with a constant as second argument if one is given."""
    return next(
        node
        for node in graph.nodes
        if node.target is target and (constant is None or node.args[1] == constant)
    )


def removes_an_addition(graph: Any) -> None:
    node = call(graph, aten.add.Tensor, 2.5)
    node.replace_all_uses_with(node.args[0])
    graph.erase_node(node)


def swaps_two_arguments(graph: Any) -> None:
    node = call(graph, aten.sub.Tensor)
    node.args = node.args[::-1]


def moves_a_node(graph: Any) -> None:
    call(graph, aten.sin.default).prepend(call(graph, aten.cos.default))


def _passes_alone(gm: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
    """What inductor does with a graph before it writes code for it."""
    guards: Any = importlib.import_module("torch._guards")
    virtualized: Any = importlib.import_module("torch._inductor.virtualized").V
    with virtualized.set_fake_mode(guards.detect_fake_mode(inputs)):
        compile_fx._recursive_post_grad_passes(gm, options.get("is_inference", False))

    def run(inputs: list[Any]) -> Any:
        return gm.forward(*inputs)

    cast("Any", run)._boxed_call = True
    return run


passes_alone = functools.partial(compile_fx.compile_fx, inner_compile=_passes_alone)


def read(store: Store, name: RevisionName) -> Listing:
    return store.read(store.root / name.text)


def asked(store: Store, passes: list[Pass], kind: Asked, what: str) -> Found:
    answer = first_passes(passes, Question(kind, what), lambda one: read(store, one))
    assert (answer.unread, answer.is_known) == (0, True)
    (found,) = answer.found
    return found


def test_each_pass_that_was_planted_is_found_by_what_it_did(
    store: Store, noted: list[Pass]
) -> None:
    planted = {
        "post_grad_custom_post_pass": removes_an_addition,
        "joint_custom_post_pass": swaps_two_arguments,
        "post_grad_custom_pre_pass": moves_a_node,
    }
    with config.patch(planted), torch.no_grad():
        x, y = torch.ones(3), torch.zeros(3)
        made = any_torch.compile(Sums(), backend=passes_alone)(x, y)
    a = x.sin() + 1.5
    assert torch.allclose(made, ((a - y.cos()) * 3.0 + a).relu())
    finish()
    gone = asked(store, noted, Asked.GONE, "add_2")
    assert (gone.ran.name, gone.ran.stage, gone.ran.compilation) == (
        "post_grad_custom_post_pass",
        "graph 0, forward, post-grad",
        "0/0",
    )
    assert gone.reason == "is replaced by add_1"
    assert gone.place is not None
    line = (
        Path(gone.place.path)
        .read_text("utf-8")
        .splitlines()[gone.place.span.start.line]
    )
    assert line.strip() == "return (b + a + 2.5).relu()"
    swapped = asked(store, noted, Asked.ALTERED, "sub")
    assert (swapped.ran.name, swapped.ran.stage) == (
        "joint_custom_post_pass",
        "graph 0, joint",
    )
    assert swapped.reason == "has (add, cos) and not (cos, add)"
    moved = asked(store, noted, Asked.MOVED, "cos")
    assert moved.ran.name == "post_grad_custom_pre_pass"
    assert moved.reason == "stands before sin"
    # The planted ones, and nothing that inductor does to such a model by itself.
    assert [one.name for one in noted if one.changed] == [
        "joint_custom_post_pass",
        "post_grad_custom_pre_pass",
        "post_grad_custom_post_pass",
    ]


def test_a_pass_that_raises_is_in_the_record_with_its_graph(
    store: Store, noted: list[Pass]
) -> None:
    def fails(graph: Any) -> None:
        swaps_two_arguments(graph)
        raise KeyError("lost")

    with (
        config.patch({"post_grad_custom_post_pass": fails}),
        torch.no_grad(),
        pytest.raises(Exception, match="lost"),
    ):
        any_torch.compile(Sums(), backend=passes_alone)(torch.ones(3), torch.ones(3))
    finish()
    failed = noted[-1]
    assert (failed.name, failed.raised) == (
        "post_grad_custom_post_pass",
        "KeyError: 'lost'",
    )
    assert failed.after is not None
    assert "sub.Tensor(add, cos)" in read(store, failed.after).text


Table = list[tuple[str, ...]]


def table(gm: Any) -> Table:
    """A graph as a person would write it down."""
    return [
        (n.name, n.op, str(n.target), repr(n.args), repr(n.kwargs))
        for n in gm.graph.nodes
    ]


class Watching:
    """Compares graphs at the same observers, and knows nothing of how fxls does it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.changed: list[tuple[str, str]] = []
        """The name, and the code that torch wrote for the graph behind the pass."""
        module: Any = importlib.import_module(
            "torch.fx.passes.graph_transform_observer"
        )
        observer = module.GraphTransformObserver
        enter, leave = observer.__enter__, observer.__exit__
        before: list[Table] = []

        def __enter__(one: Any) -> Any:  # noqa: N807 - in its place
            before.append(table(one.gm))
            return enter(one)

        def __exit__(one: Any, type: Any, value: Any, tb: Any) -> Any:  # noqa: A002, N807 - likewise
            if before.pop() != table(one.gm):
                code = one.gm.graph.python_code("self").src
                self.changed.append((one.passname, code))
            return leave(one, type, value, tb)

        patch.setattr(observer, "__enter__", __enter__)
        patch.setattr(observer, "__exit__", __exit__)


def trained_once(backend: Any) -> float:
    any_torch.compiler.reset()
    any_torch.manual_seed(0)
    loss = any_torch.compile(Gpt(), backend=backend)(torch.arange(16).view(2, 8) % 11)
    loss.backward()
    return float(loss.detach())


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(passes_alone, id="passes alone"),
        pytest.param("inductor", marks=needs_inductor),
    ],
)
def test_of_a_training_step_each_changing_pass_is_a_revision_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: Any
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
        with fresh()():
            losses.append(trained_once(backend))
        fxls.uninstall()
        files = (tmp_path / f"store{recorded}").glob("*.py")
        texts[recorded] = {file.name: file.read_text("utf-8") for file in files}
    assert losses[0] == losses[1]
    store = Store(tmp_path / "storerecorded")
    changed = [one for one in passes if one.changed and one.name != OUTSIDE]
    assert [one.name for one in changed] == [name for name, _ in watching.changed]
    assert len(changed) > 6
    for one, (_, code) in zip(changed, watching.changed, strict=True):
        assert one.after is not None
        text = texts["recorded"][one.after.text]
        assert text.partition("\n\n\n")[2].strip() == code.strip()
    # All other listings are what they are without a record, byte by byte.
    revisions = {
        name.text
        for one in passes
        for name in (one.before, one.after)
        if name is not None
    }
    assert texts["recorded"].keys() - texts[""].keys() == revisions
    assert {n: t for n, t in texts["recorded"].items() if n not in revisions} == texts[
        ""
    ]
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


def fresh() -> Any:
    utils: Any = importlib.import_module("torch._inductor.utils")
    return utils.fresh_cache
