"""A pass that changes a graph makes a revision of it, and no other pass does."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx.passes.graph_transform_observer import (
    GraphTransformObserver as TorchObserver,
)
from torch.fx.passes.infra.pass_manager import PassManager as TorchPassManager

import fxls
from fxls import engine
from fxls.engine.passes.graph_transform_observer import GraphTransformObserver
from fxls.engine.passes.infra.pass_base import PassResult
from fxls.engine.passes.infra.pass_manager import PassManager
from fxls.listing import Listing
from fxls.record import OUTSIDE, Pass
from fxls.record.first_pass import Asked, Question, first_passes
from fxls.runtime import finish
from fxls.runtime.passes import revisions
from fxls.store import Store
from tests.runtime.producers.looking import header, listing_in, path_of
from tests.runtime.producers.torch_nets import Net

any_torch: Any = torch

SYSTEMS: dict[str, tuple[Any, Any, Any]] = {
    "torch.fx": (any_torch.fx, TorchObserver, TorchPassManager),
    "engine": (engine, GraphTransformObserver, PassManager),
}
each = pytest.mark.parametrize(
    ("system", "observer", "manager"), SYSTEMS.values(), ids=SYSTEMS
)


def node_of(module: Any, name: str) -> Any:
    return next(node for node in module.graph.nodes if node.name == name)


def drop_mul(module: Any) -> Any:
    mul = node_of(module, "mul")
    mul.replace_all_uses_with(mul.args[0])
    module.graph.erase_node(mul)
    module.recompile()
    return PassResult(module, modified=True)


def swap_add(module: Any) -> Any:
    add = node_of(module, "add")
    add.args = add.args[::-1]
    module.recompile()
    return PassResult(module, modified=True)


def do_nothing(module: Any) -> Any:
    module.recompile()
    return PassResult(module, modified=False)


def fail_half_way(module: Any) -> Any:
    add = node_of(module, "add")
    add.args = add.args[::-1]
    raise ValueError("half way")


def told(passes: list[Pass]) -> list[tuple[Any, ...]]:
    """What passes did, in short."""
    return [
        (
            *(one.name, one.ordinal, one.under, one.raised),
            *(one.erased.first, one.altered.first),
        )
        for one in passes
        if one.changed
    ]


def read(store: Store, name: Any) -> Listing:
    finish()
    return store.read(store.root / name.text)


def code_in(listing: Listing) -> str:
    return listing.text.partition("\n\n\n")[2]


@each
def test_functions_in_a_block_are_passes_when_they_change_the_graph(
    store: Store, system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    codes = [module.code]
    with fxls.passes(module) as seen:
        for one in (drop_mul, do_nothing, swap_add):
            one(module)
            codes.append(module.code)
    assert told(seen) == [
        ("drop_mul", 1, (), None, ("mul",), ("add",)),
        ("swap_add", 1, (), None, (), ("add",)),
    ]
    assert seen[0].after == seen[1].before
    names = [seen[0].before, seen[0].after, seen[1].after]
    for name, code in zip(names, (codes[0], codes[1], codes[3]), strict=True):
        assert code_in(read(store, name)).strip() == code.strip()
    assert seen[1].after is not None
    assert path_of(module).name == seen[1].after.text, "the last revision runs"
    assert code_in(read(store, seen[1].after)) == code_in(listing_in(store, module))


def test_a_module_whose_code_is_made_when_it_is_called_has_its_passes_too(
    store: Store,
) -> None:
    """As the graphs are that AOTAutograd gives to a backend."""
    lazy: Any = importlib.import_module("torch.fx._lazy_graph_module")
    traced = any_torch.fx.symbolic_trace(Net())
    with lazy._use_lazy_graph_module(True):
        module = lazy._make_graph_module(Net(), traced.graph)
    with fxls.passes(module) as seen:
        for one in (drop_mul, do_nothing, swap_add):
            one(module)
    assert told(seen) == [
        ("drop_mul", 1, (), None, ("mul",), ("add",)),
        ("swap_add", 1, (), None, (), ("add",)),
    ]
    assert "recompile" not in vars(module)
    assert not any(facts.name == "mul" for facts in read(store, seen[1].after).nodes)


@each
def test_what_an_observer_is_around_is_a_pass(
    store: Store, noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    for one in (do_nothing, drop_mul, do_nothing):
        observer(module, one.__name__).apply_gm_pass(one)
    producer = "engine" if system is engine else "torch.fx"
    assert [(one.name, one.changed, one.producer) for one in noted] == [
        ("do_nothing", False, producer),
        ("drop_mul", True, producer),
        ("do_nothing", False, producer),
    ]
    before, after = noted[1].before, noted[1].after
    assert "mul" in {facts.name for facts in read(store, before).nodes}
    assert "mul" not in {facts.name for facts in read(store, after).nodes}


@each
def test_a_graph_that_is_not_recompiled_says_which_pass_made_it(
    store: Store, noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    with observer(module, "turned round"):
        add = node_of(module, "add")
        add.args = add.args[::-1]
    (only,) = noted
    assert only.before is not None
    assert header(read(store, only.after)) == [
        "It is the graph, after the pass turned round.",
        f"It was made from {only.before.text}.",
        "Altered add.",
    ]


@each
def test_passes_in_passes_are_told_apart(
    noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    with observer(module, "outer"):
        node_of(module, "add").args = node_of(module, "add").args[::-1]
        with observer(module, "inner"):
            drop_mul(module)
        with observer(module, "idle"):
            pass
        with observer(module, "inner"):
            node_of(module, "add").args = node_of(module, "add").args[::-1]
    assert told(noted) == [
        ("inner", 1, ("outer",), None, ("mul",), ("add",)),
        ("inner", 2, ("outer",), None, (), ("add",)),
        ("outer", 1, (), None, ("mul",), ("add",)),
    ]
    first, _, second, outer = noted
    assert outer.after == second.after
    assert outer.before != first.before, "the outer one changed it before"


@each
def test_a_pass_that_raises_leaves_the_graph_as_it_was_then(
    store: Store, noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    with pytest.raises(ValueError, match="half way"):
        observer(module, "broken").apply_gm_pass(fail_half_way)
    with pytest.raises(ValueError, match="half way"), fxls.passes(module) as seen:
        fail_half_way(module)
    assert told(noted) == [
        ("broken", 1, (), "ValueError: half way", (), ("add",)),
        ("fail_half_way", 1, (), "ValueError: half way", (), ("add",)),
    ]
    assert seen == noted[1:]
    assert "The pass raised ValueError: half way" in header(read(store, noted[0].after))


@each
def test_what_a_pass_manager_calls_are_passes(
    noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    def rebuilt(module: Any) -> Any:
        """Returns another module, as a Transformer does."""
        graph = system.Graph()
        end = node_of(module, "output")
        graph.output(graph.graph_copy(module.graph, {}), end.type)
        other = system.GraphModule(module, graph)
        return swap_add(other)

    module = system.symbolic_trace(Net())
    ran = manager([do_nothing, drop_mul, rebuilt])
    assert torch.equal(
        ran(module).graph_module(torch.ones(2, 4)), module(torch.ones(2, 4))
    )
    assert [(row[0], row[4], row[5]) for row in told(noted)] == [
        ("drop_mul", ("mul",), ("add",)),
        ("swap_add", (), ("add",)),
    ]
    with pytest.raises(Exception, match="An error occurred"):
        manager([drop_mul, fail_half_way])(system.symbolic_trace(Net()))
    assert [(one.name, one.raised is None) for one in noted[2:]] == [
        ("drop_mul", True),
        ("fail_half_way", False),
    ]


@each
def test_a_pass_that_copies_the_module_and_changes_nothing_is_no_revision(
    noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    class Layered(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.layer(x) + x

    def copied(module: Any) -> Any:
        return PassResult(copy.deepcopy(module), modified=True)

    def swap_in_copy(module: Any) -> Any:
        return swap_add(copy.deepcopy(module))

    manager([copied, swap_in_copy])(system.symbolic_trace(Layered()))
    assert [(row[0], row[5]) for row in told(noted)] == [("swap_add", ("add",))]


@each
def test_a_graph_that_a_pass_leaves_in_disorder_is_a_revision(
    store: Store, noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    with observer(module, "misplaces"):
        mul, add = node_of(module, "mul"), node_of(module, "add")
        mul.prepend(add)
        add.args = add.args[::-1]
    (only,) = noted
    assert only.altered.count == len({*only.altered.first}), "none is counted twice"
    answer = first_passes(noted, Question(Asked.BROKEN), lambda name: read(store, name))
    ((ran, node, reason),) = [(one.ran, one.node, one.reason) for one in answer.found]
    assert (ran, node) == (only, "add")
    assert reason == "uses mul before that is made"


@each
def test_what_changes_between_passes_is_in_no_pass(
    noted: list[Pass], system: Any, observer: Any, manager: Any
) -> None:
    module = system.symbolic_trace(Net())
    with fxls.passes(module) as seen:
        node_of(module, "add").args = node_of(module, "add").args[::-1]
        with observer(module, "after it"):
            drop_mul(module)
    assert [(one.name, one.changed) for one in seen] == [
        (OUTSIDE, True),
        ("after it", True),
    ]
    assert seen == noted


@each
@pytest.mark.parametrize("recompiles", [False, True])
def test_a_node_knows_the_pass_that_made_it_and_where_it_came_from(
    store: Store,
    noted: list[Pass],
    system: Any,
    observer: Any,
    manager: Any,
    *,
    recompiles: bool,
) -> None:
    def double(module: Any) -> None:
        mul = node_of(module, "mul")
        with module.graph.inserting_after(mul):
            twice = module.graph.call_function(torch.add, (mul.args[0], mul.args[0]))
        mul.replace_all_uses_with(twice)
        module.graph.erase_node(mul)
        # No pass of a user's copies these.
        twice.meta.pop("stack_trace", None)
        if recompiles:
            module.recompile()

    module = system.symbolic_trace(Net())
    observer(module, "double").apply_gm_pass(double)
    before, after = (read(store, name) for name in (noted[0].before, noted[0].after))
    made = next(f for f in after.nodes if f.name in noted[0].created.first)
    old = next(i for i, f in enumerate(before.nodes) if f.name == "mul")
    assert after.origin(after.nodes.index(made)) == before.origin(old) is not None
    if system is not engine:
        assert (made.passes, made.made_from) == (("double",), ("mul",))


def test_without_a_record_observers_make_nothing_and_blocks_still_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FXLS_RECORD", "0")
    root = fxls.install(tmp_path / "store")
    try:
        module: Any = any_torch.fx.symbolic_trace(Net())
        files = {*root.glob("*.py")}
        with TorchObserver(module, "unseen"):
            node_of(module, "add").args = node_of(module, "add").args[::-1]
        assert {*root.glob("*.py")} == files
        with fxls.passes(module) as seen:
            drop_mul(module)
    finally:
        fxls.uninstall()
    assert [one.name for one in seen] == ["drop_mul"]


def test_so_many_graphs_are_written_and_no_more(
    noted: list[Pass], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(revisions, "MOST", revisions.Point.written + 4)
    module: Any = any_torch.fx.symbolic_trace(Net())
    for _ in range(5):
        with TorchObserver(module, "turned round"):
            node_of(module, "add").args = node_of(module, "add").args[::-1]
    assert [(one.changed, one.after is None) for one in noted] == [
        *((True, False), (True, False), (True, True), (True, True), (True, True))
    ]
    said = [r.getMessage() for r in caplog.records if r.name == "fxls"]
    said_at_the_bound = (
        f"fxls wrote {revisions.MOST} graphs for the passes of this program: it records"
        " further passes without their graphs"
    )
    assert said == [said_at_the_bound]


def test_what_is_no_graph_module_is_refused(store: Store) -> None:
    with pytest.raises(TypeError, match="Linear has no graph"):
        fxls.passes(torch.nn.Linear(1, 1))
    assert store
