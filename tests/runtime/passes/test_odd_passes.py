"""Passes that are not as one expects them: each is recorded as what it did."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from fxls.record import Pass
from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.passes.watching import Watching, passes_alone
from tests.runtime.producers.torch_nets import Net
from tests.support.programs import needs_inductor

any_torch: Any = torch
config: Any = importlib.import_module("torch._inductor.config")
utils: Any = importlib.import_module("torch._inductor.utils")
compiled_autograd: Any = importlib.import_module("torch._dynamo.compiled_autograd")

torchs_warnings = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


@pytest.fixture
def compiles_anew() -> Iterator[None]:
    any_torch.compiler.reset()
    with utils.fresh_cache():
        yield
    any_torch.compiler.reset()


def node_of(graph: Any, name: str) -> Any:
    return next(node for node in graph.nodes if node.name == name)


def swap(module: Any) -> None:
    add = node_of(module.graph, "add")
    add.args = add.args[::-1]


_tracing = threading.Lock()


def observed(name: str, change: Callable[[Any], None]) -> None:
    # What torch.fx replaces while it traces stays replaced when two threads do so.
    with _tracing:
        module: Any = any_torch.fx.symbolic_trace(Net())
    with GraphTransformObserver(module, name):
        change(module)


def test_a_pass_that_does_not_always_do_the_same_has_what_it_did_each_time(
    store: Store, noted: list[Pass]
) -> None:
    coins = iter([True, False, True])

    def maybe(module: Any) -> None:
        if next(coins):
            swap(module)

    for _ in range(3):
        observed("maybe", maybe)
    finish()
    first, second, third = noted
    assert [one.changed for one in noted] == [True, False, True]
    assert (second.before, second.after) == (None, None)
    assert first.after == third.after != first.before, "a text has one file"
    assert first.after is not None
    assert store.read(store.root / first.after.text).nodes


def test_passes_of_several_threads_are_not_parts_of_one_another(
    noted: list[Pass],
) -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(module: Any) -> None:
        both.wait()
        swap(module)
        both.wait()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(observed, name, meet) for name in "ab"]:
            done.result()
    assert sorted((one.name, one.under, one.altered.first) for one in noted) == [
        ("a", (), ("add",)),
        ("b", (), ("add",)),
    ]


def doubled(x: Any) -> Any:
    return (x.sin() + x.cos()) * 2


def swap_in(graph: Any) -> None:
    for node in graph.nodes:
        if str(node.target) == "aten.add.Tensor":
            node.args = node.args[::-1]


def planted(passes: list[Pass]) -> list[tuple[Any, ...]]:
    return [
        (one.compilation, one.stage, one.altered.first)
        for one in passes
        if one.name == "post_grad_custom_post_pass" and one.changed
    ]


@pytest.mark.slow
@torchs_warnings
@pytest.mark.usefixtures("compiles_anew")
def test_under_dynamic_shapes_passes_are_compared_and_add_no_guard(
    noted: list[Pass], monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = Watching(monkeypatch)
    with config.patch({"post_grad_custom_post_pass": swap_in}), torch.no_grad():
        run = any_torch.compile(doubled, backend=passes_alone, dynamic=True)
        for size in (4, 5, 6):
            x = torch.ones(size)
            assert torch.equal(run(x), doubled(x))
    ((compilation, stage, (altered,)),) = planted(noted)
    assert (compilation, stage) == ("0/0", "graph 0, forward, post-grad")
    assert altered.startswith("add")
    # One compilation; the steps of AOTAutograd are watched for gradients alone.
    assert {one.compilation for one in noted} == {"0/0"}
    observers = [one.name for one in noted if one.changed and "traced" not in one.stage]
    assert observers == [
        name for name, _ in watching.changed if name not in ("decompositions",)
    ]


@pytest.mark.slow
@torchs_warnings
@pytest.mark.usefixtures("compiles_anew")
def test_the_graph_of_compiled_autograd_has_passes_of_its_own(
    noted: list[Pass],
) -> None:
    def step() -> torch.Tensor:
        x = torch.ones(3, requires_grad=True)
        any_torch.compile(doubled, backend=passes_alone)(x).sum().backward()
        assert x.grad is not None
        return x.grad

    compiler = any_torch.compile(backend=passes_alone)
    with compiled_autograd._enable(compiler):
        compiled = step()
    x = torch.ones(3, requires_grad=True)
    doubled(x).sum().backward()
    assert x.grad is not None
    assert torch.allclose(compiled, x.grad)
    compilations = {one.compilation for one in noted}
    assert any(str(one).startswith("!") for one in compilations), compilations


@pytest.mark.slow
@torchs_warnings
@pytest.mark.usefixtures("compiles_anew")
def test_graphs_in_graphs_have_their_passes_under_the_name_of_the_part(
    noted: list[Pass],
) -> None:
    def positive(x: Any) -> Any:
        return x.sin() + x.cos()

    def negative(x: Any) -> Any:
        return x - 1

    def branches(x: Any) -> Any:
        return any_torch.cond(x.sum() > 0, positive, negative, (x,))

    with config.patch({"post_grad_custom_post_pass": swap_in}), torch.no_grad():
        x = torch.ones(3)
        run = any_torch.compile(branches, backend=passes_alone)
        assert torch.equal(run(x), branches(x))
    assert [
        (one.stage, one.subgraph, one.altered.first)
        for one in noted
        if one.name == "post_grad_custom_post_pass" and one.changed
    ] == [("graph 0, forward, post-grad, true_graph_0", "true_graph_0", ("add",))]


@pytest.mark.slow
@torchs_warnings
@needs_inductor
@pytest.mark.usefixtures("compiles_anew")
def test_what_comes_from_a_cache_was_not_transformed_again(noted: list[Pass]) -> None:
    def run() -> tuple[torch.Tensor, int]:
        any_torch.compiler.reset()
        before = len(noted)
        with torch.no_grad():
            made = any_torch.compile(doubled)(torch.ones(3))
        return made, len(noted) - before

    cold, passes = run()
    warm, again = run()
    assert torch.equal(cold, warm)
    assert passes > 10
    # Dynamo and inductor's pre-grad passes run before the caches are asked.
    assert [(one.stage, one.changed) for one in noted[-again:] if again] == [
        ("graph 0, pre-grad", False)
    ] * again
