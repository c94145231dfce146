"""Functions that a backend of the program's calls on its graphs are passes, unasked."""

from __future__ import annotations

import copy
import importlib
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import fxls
from fxls.record import OUTSIDE, Pass
from fxls.runtime import finish
from fxls.store import Store
from tests.support.programs import needs_inductor

any_torch: Any = torch
aten: Any = any_torch.ops.aten
backends: Any = importlib.import_module("torch._dynamo.backends.common")
debugging: Any = importlib.import_module("torch._dynamo.backends.debugging")


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    any_torch.compiler.reset()
    yield
    any_torch.compiler.reset()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.linear(x))
        return y + x


def relu_to_tanh(module: Any) -> None:
    """Makes a node in place of another one."""
    for node in [*module.graph.nodes]:
        if node.target in (torch.relu, aten.relu.default):
            other = torch.tanh if node.target is torch.relu else aten.tanh.default
            with module.graph.inserting_after(node):
                new = module.graph.call_function(other, node.args)
            node.replace_all_uses_with(new)
            module.graph.erase_node(node)
    module.recompile()


def swap_add(module: Any) -> None:
    """Alters a node."""
    for node in module.graph.nodes:
        if "add" in str(node.target) and "addmm" not in str(node.target):
            node.args = node.args[::-1]
    module.recompile()


def look_only(module: Any) -> None:
    """Changes nothing."""
    module.recompile()


class WithSigmoid(torch.fx.Transformer):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.relu:
            target = torch.sigmoid
        return super().call_function(target, args, kwargs)


Told = tuple[str, int, str | None, str]


def told(noted: list[Pass]) -> list[Told]:
    """The passes that are of the backend: what AOTAutograd did has tests of its own."""
    return [
        (one.name, one.ordinal, one.compilation, one.stage)
        for one in noted
        if one.changed and one.name not in ("partition", "decompositions", "clean-up")
    ]


def compiled(backend: Callable[..., Any], *, grad: bool = False) -> Any:
    model, x = Net(), torch.ones(2, 4, requires_grad=grad)
    run: Any = any_torch.compile(model, backend=backend)
    found = run(x)
    if grad:
        found.sum().backward()
    return found


def test_functions_of_a_backend_that_recompile_its_graph_are_passes(
    store: Store, noted: list[Pass]
) -> None:
    def backend(module: Any, inputs: list[Any]) -> Any:
        relu_to_tanh(module)
        look_only(module)
        swap_add(module)
        swap_add(module)
        return module.forward

    compiled(backend)
    assert told(noted) == [
        ("relu_to_tanh", 1, "0/0", "graph 0"),
        ("swap_add", 1, "0/0", "graph 0"),
        ("swap_add", 2, "0/0", "graph 0"),
    ]
    first, second, third = noted
    assert first.replaced.first == (("y", "tanh"),)
    assert second.altered.first == ("add",)
    assert first.before is not None
    assert second.before == first.after
    assert third.before == second.after
    finish()
    texts = [
        store.read(store.root / name.text).text
        for name in (first.before, first.after, second.after)
        if name is not None
    ]
    assert ["torch.relu(" in text for text in texts] == [True, False, False]
    assert ["torch.tanh(" in text for text in texts] == [False, True, True]


def test_a_node_that_a_backend_made_is_of_the_line_of_what_it_replaced(
    store: Store, noted: list[Pass]
) -> None:
    def backend(module: Any, inputs: list[Any]) -> Any:
        relu_to_tanh(module)
        return module

    compiled(backend)
    finish()
    (ran,) = noted
    assert ran.before is not None
    assert ran.after is not None
    before, after = (
        store.read(store.root / one.text) for one in (ran.before, ran.after)
    )
    old = next(i for i, facts in enumerate(before.nodes) if facts.name == "y")
    new = next(i for i, facts in enumerate(after.nodes) if facts.name == "tanh")
    assert after.origin(new) == before.origin(old) is not None


def test_a_node_that_has_the_trace_of_one_of_several_is_of_all_of_them(
    store: Store, noted: list[Pass]
) -> None:
    def fuse_add_of_relu(module: Any) -> None:
        (add,) = (one for one in module.graph.nodes if one.target is operator.add)
        relu, x = add.args
        with module.graph.inserting_after(add):
            fused = module.graph.call_function(torch.add, (relu.args[0], x))
        fused.meta = dict(add.meta)
        add.replace_all_uses_with(fused)
        module.graph.erase_node(add)
        module.graph.erase_node(relu)
        module.recompile()

    def backend(module: Any, inputs: list[Any]) -> Any:
        fuse_add_of_relu(module)
        return module.forward

    compiled(backend)
    finish()
    (ran,) = noted
    assert ran.after is not None
    after = store.read(store.root / ran.after.text)
    fused = after.nodes[-2]
    rows = (fused.origin, *fused.more_origins)
    lines = Path(__file__).read_text("utf-8").split("\n")
    said = [next(iter(after.places(row))).span for row in rows if row is not None]
    assert [
        lines[span.start.line][span.start.column : span.end.column] for span in said
    ] == ["y + x", "torch.relu(self.linear(x))"]


def on_a_copy(module: Any, _: list[Any]) -> Any:
    module = copy.deepcopy(module)
    relu_to_tanh(module)
    return module.forward


def by_a_transformer(module: Any, _: list[Any]) -> Any:
    return WithSigmoid(module).transform()


def another_module(module: Any, _: list[Any]) -> Any:
    changed = torch.fx.GraphModule(module, module.graph)
    relu_to_tanh(changed)
    return changed.forward


@pytest.mark.parametrize(
    ("backend", "name", "stage"),
    [
        (on_a_copy, "relu_to_tanh", "graph 0"),
        (by_a_transformer, "by_a_transformer", "graph 0, of the backend"),
        (another_module, "relu_to_tanh", "graph 0, of the backend"),
    ],
)
def test_a_backend_may_go_on_with_a_module_of_its_own(
    noted: list[Pass], backend: Callable[..., Any], name: str, stage: str
) -> None:
    compiled(backend)
    assert told(noted) == [(name, 1, "0/0", stage)]


@pytest.mark.parametrize("how", ["given to torch.compile", "called by a function"])
def test_the_compilers_of_a_backend_for_both_directions_have_passes(
    noted: list[Pass], how: str
) -> None:
    def forward(module: Any, inputs: list[Any]) -> Any:
        relu_to_tanh(module)
        return functorch_boxed(module)

    def backward(module: Any, inputs: list[Any]) -> Any:
        double_first(module)
        return functorch_boxed(module)

    made = backends.aot_autograd(fw_compiler=forward, bw_compiler=backward)
    if how == "given to torch.compile":
        compiled(made, grad=True)
    else:

        def backend(module: Any, inputs: list[Any]) -> Any:
            return made(module, inputs)

        compiled(backend, grad=True)
    assert told(noted) == [
        ("relu_to_tanh", 1, "0/0", "graph 0, forward"),
        ("double_first", 1, "0/0", "graph 0, backward"),
    ]
    parts = [one for one in noted if one.name == "partition"]
    mine = [one for one in noted if one.name != "partition" and one.changed]
    assert [one.before for one in mine] == [one.after for one in parts]


def test_a_graph_that_needs_no_gradients_is_the_forward(noted: list[Pass]) -> None:
    def forward(module: Any, inputs: list[Any]) -> Any:
        relu_to_tanh(module)
        return functorch_boxed(module)

    with torch.no_grad():
        compiled(backends.aot_autograd(fw_compiler=forward))
    assert told(noted) == [("relu_to_tanh", 1, "0/0", "graph 0, forward")]


def test_behind_a_block_in_a_backend_functions_are_passes_of_the_compilation(
    noted: list[Pass],
) -> None:
    def backend(module: Any, inputs: list[Any]) -> Any:
        with fxls.passes(module) as seen:
            relu_to_tanh(module)
        assert [one.name for one in seen] == ["relu_to_tanh"]
        swap_add(module)
        return module.forward

    compiled(backend)
    assert told(noted) == [
        ("relu_to_tanh", 1, "0/0", "graph 0"),
        ("swap_add", 1, "0/0", "graph 0"),
    ]
    assert [one.altered.first for one in noted][-1] == ("add",)


def test_managers_and_observers_in_a_backend_have_passes_of_the_compilation(
    noted: list[Pass],
) -> None:
    managers: Any = importlib.import_module("torch.fx.passes.infra.pass_manager")
    results: Any = importlib.import_module("torch.fx.passes.infra.pass_base")
    observers: Any = importlib.import_module("torch.fx.passes.graph_transform_observer")

    class Swap(results.PassBase):
        def call(self, module: Any) -> Any:
            swap_add(module)
            return results.PassResult(module, modified=True)

    def backend(module: Any, inputs: list[Any]) -> Any:
        managers.PassManager(passes=[Swap()])(module)
        with observers.GraphTransformObserver(module, "mine"):
            relu_to_tanh(module)
        swap_add(module)
        return module.forward

    compiled(backend)
    assert told(noted) == [
        ("swap_add", 1, "0/0", "graph 0"),
        ("mine", 1, "0/0", "graph 0"),
        ("swap_add", 2, "0/0", "graph 0"),
    ]


def functorch_boxed(module: Any) -> Any:
    return importlib.import_module("functorch.compile").make_boxed_func(module.forward)


def double_first(module: Any) -> None:
    """Uses the first gradient twice."""
    tangent = next(n for n in module.graph.nodes if n.name.startswith("tangents"))
    with module.graph.inserting_before(tangent.next):
        twice = module.graph.call_function(aten.mul.Tensor, (tangent, 2))
    tangent.replace_all_uses_with(twice)
    twice.args = (tangent, 2)
    module.recompile()


@pytest.mark.slow
@needs_inductor
def test_what_is_changed_before_inductor_goes_on_is_a_pass_of_the_backend(
    noted: list[Pass],
) -> None:
    inductor: Any = importlib.import_module("torch._inductor.compile_fx")

    def mine(module: Any, inputs: list[Any]) -> Any:
        for node in module.graph.nodes:
            if "add" in str(node.target):
                node.args = node.args[::-1]
        return inductor.compile_fx(module, inputs)

    compiled(mine)
    assert told(noted)[0] == ("mine", 1, "0/0", "graph 0")
    assert noted[0].altered.first == ("add",)
    assert OUTSIDE not in [one.name for one in noted]


@pytest.mark.parametrize("name", ["eager", "aot_eager"])
def test_backends_of_torch_have_no_passes_of_the_program(
    noted: list[Pass], name: str
) -> None:
    compiled(debugging.eager if name == "eager" else debugging.aot_eager, grad=True)
    assert told(noted) == []


def test_a_backend_that_calls_one_of_torchs_has_its_own_passes_alone(
    noted: list[Pass],
) -> None:
    def backend(module: Any, inputs: list[Any]) -> Any:
        swap_add(module)
        return debugging.aot_eager(module, inputs)

    compiled(backend, grad=True)
    assert told(noted) == [("swap_add", 1, "0/0", "graph 0")]


@pytest.mark.slow
@needs_inductor
def test_what_a_backend_gives_to_inductor_at_its_first_call_is_of_no_compilation(
    noted: list[Pass],
) -> None:
    """The compilation of torch has ended then, and says nothing of what it was given."""
    inductor: Any = importlib.import_module("torch._inductor.compile_fx")

    def lazily(module: Any, _: list[Any]) -> Any:
        made: list[Any] = []

        def run(*inputs: Any) -> Any:
            if not made:
                made.append(inductor.compile_fx(module, [*inputs]))
            return made[0](*inputs)

        return run

    compiled(lazily)
    found = [one for one in noted if one.changed]
    assert found
    assert [(one.compilation, one.after) for one in found] == [(None, None)] * len(
        found
    )
