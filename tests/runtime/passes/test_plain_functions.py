"""A function that changes a graph and recompiles its module is a pass, unasked."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.record import Pass
from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.passes.test_observed_passes import drop_mul, node_of, swap_add
from tests.runtime.producers.looking import path_of
from tests.runtime.producers.torch_nets import Net

any_torch: Any = torch
each = pytest.mark.parametrize(
    "system", [any_torch.fx, engine], ids=["torch.fx", "engine"]
)

Told = tuple[str, int, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def told(noted: list[Pass]) -> list[Told]:
    return [
        (
            one.name,
            one.ordinal,
            one.created.first,
            one.erased.first,
            one.altered.first,
        )
        for one in noted
    ]


@each
def test_what_changed_a_module_between_two_recompilations_is_a_pass(
    store: Store, noted: list[Pass], system: Any
) -> None:
    module = system.symbolic_trace(Net())
    files = [path_of(module).name]
    for one in (drop_mul, swap_add, swap_add):
        one(module)
        module.recompile()  # which changes nothing, and is no pass
        files.append(path_of(module).name)
    assert told(noted) == [
        ("drop_mul", 1, (), ("mul",), ("add",)),
        ("swap_add", 1, (), (), ("add",)),
        ("swap_add", 2, (), (), ("add",)),
    ]
    assert all(one.changed and one.before and one.after for one in noted)
    before = [one.before.text for one in noted if one.before]
    after = [one.after.text for one in noted if one.after]
    assert (before, after) == (files[:-1], files[1:])
    assert store


@each
def test_a_node_of_such_a_pass_is_of_the_line_of_what_it_replaced(
    store: Store, noted: list[Pass], system: Any
) -> None:
    def double(module: Any) -> None:
        mul = node_of(module, "mul")
        with module.graph.inserting_after(mul):
            twice = module.graph.call_function(torch.add, (mul.args[0], mul.args[0]))
        mul.replace_all_uses_with(twice)
        module.graph.erase_node(mul)
        module.recompile()

    module = system.symbolic_trace(Net())
    double(module)
    finish()
    (ran,) = noted
    assert (ran.name, ran.replaced.first) == ("double", (("mul", "add_2"),))
    assert ran.before is not None
    assert ran.after is not None
    before, after = (
        store.read(store.root / name.text) for name in (ran.before, ran.after)
    )
    old, new = (
        next(i for i, facts in enumerate(one.nodes) if facts.name == name)
        for one, name in ((before, "mul"), (after, "add_2"))
    )
    assert after.origin(new) == before.origin(old) is not None


def with_copied_nodes(system: Any, module: Any) -> Any:
    graph, made = system.Graph(), dict[Any, Any]()
    for node in module.graph.nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.lint()
    swapped = next(node for node in graph.nodes if node.name == "add")
    swapped.args = swapped.args[::-1]
    return system.GraphModule(module, graph)


def with_the_same_graph(system: Any, module: Any) -> Any:
    add = node_of(module, "add")
    add.args = add.args[::-1]
    return system.GraphModule(module, module.graph)


@pytest.mark.parametrize(
    ("system", "function"),
    [
        (any_torch.fx, with_copied_nodes),
        (any_torch.fx, with_the_same_graph),
        (engine, with_the_same_graph),
    ],
    ids=["torch.fx, copied nodes", "torch.fx, the graph", "engine, the graph"],
)
def test_a_function_that_gives_another_module_is_a_pass(
    store: Store, noted: list[Pass], system: Any, function: Callable[[Any, Any], Any]
) -> None:
    module = system.symbolic_trace(Net())
    before = path_of(module).name
    after = path_of(function(system, module)).name
    assert told(noted) == [(function.__name__, 1, (), (), ("add",))]
    assert [(o.before and o.before.text, o.after and o.after.text) for o in noted] == [
        (before, after)
    ]
    assert store


@each
def test_a_copy_is_no_pass_and_what_changes_it_is_one(
    store: Store, noted: list[Pass], system: Any
) -> None:
    module = system.symbolic_trace(Net())
    copied = copy.deepcopy(module)
    assert noted == []
    swap_add(copied)
    drop_mul(module)
    assert told(noted) == [
        ("swap_add", 1, (), (), ("add",)),
        ("drop_mul", 1, (), ("mul",), ("add",)),
    ]
    assert store


@each
def test_another_submodule_in_the_place_of_one_is_a_change(
    store: Store, noted: list[Pass], system: Any
) -> None:
    class Layered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    def exchange(module: Any) -> None:
        module.layer = nn.Linear(2, 2, bias=False)
        module.recompile()

    exchange(system.symbolic_trace(Layered()))
    assert told(noted) == [("exchange", 1, (), (), ("layer",))]
    assert store


@each
def test_a_block_tells_of_its_passes_alone(
    store: Store, noted: list[Pass], system: Any
) -> None:
    module = system.symbolic_trace(Net())
    with fxls.passes(module) as seen:
        drop_mul(module)
    swap_add(module)
    assert [one.name for one in seen] == ["drop_mul"]
    assert [one.name for one in noted] == ["drop_mul", "swap_add"]
    assert store


@each
def test_a_pass_is_named_by_what_a_line_in_no_function_calls_or_by_its_place(
    store: Store, noted: list[Pass], system: Any
) -> None:
    text = """\
add = next(node for node in module.graph.nodes if node.name == "add")
add.args = add.args[::-1]
module.recompile()
replace_pattern(module, lambda x, y: x + y, lambda x, y: x - y)
"""
    names = {
        "module": system.symbolic_trace(Net()),
        "replace_pattern": system.replace_pattern,
    }
    exec(compile(text, "/programs/train.py", "exec"), names)
    assert [one.name for one in noted] == ["train.py:3", "replace_pattern"]
    assert store


@pytest.mark.slow
def test_what_torch_compile_makes_is_no_such_pass(
    store: Store, noted: list[Pass]
) -> None:
    any_torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    assert [one for one in noted if one.compilation is None] == []
    assert store


@each
def test_a_module_that_nobody_holds_is_gone(store: Store, system: Any) -> None:
    module = system.symbolic_trace(Net())
    drop_mul(module)
    finish()
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None
    assert store


@each
def test_without_a_record_nothing_is_kept_of_a_module(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, system: Any
) -> None:
    monkeypatch.setenv("FXLS_RECORD", "0")
    fxls.install(tmp_path / "store")
    try:
        module = system.symbolic_trace(Net())
        drop_mul(module)
        assert not hasattr(module.__class__, "_fxls_compiled")
    finally:
        fxls.uninstall()


class Swap:
    """A pass that leaves it to others to recompile."""

    def __call__(self, module: Any) -> None:
        add = node_of(module, "add")
        add.args = add.args[::-1]


@each
def test_what_nobody_recompiled_is_a_part_of_the_pass_that_recompiles(
    noted: list[Pass], system: Any
) -> None:
    module = system.symbolic_trace(Net())
    Swap()(module)
    drop_mul(module)
    assert told(noted) == [("drop_mul", 1, (), ("mul",), ("add",))]
