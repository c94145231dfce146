# Modules of two systems, whose types have nothing in common.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
"""A graph module computes the graph as it was when it was made or recompiled."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

from fxls import engine
from fxls.engine.ir.checkpoint import Checkpoint
from tests.engine.edit_scripts import STEPS, normalized, seen

MANY = 1_000
FEW = 5
"""Scripts of one test."""


def assert_same_scripts(first: int, count: int) -> None:
    for seed in range(first, first + count):
        ours = normalized(seen(engine, seed))
        assert ours == normalized(seen(torch.fx, seed)), f"the script of seed {seed}"
        assert len(ours) > STEPS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 300, FEW))
def test_random_edits_are_seen_by_the_modules_that_torch_fx_lets_see_them(
    first: int,
) -> None:
    assert_same_scripts(first, FEW)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_so_are_very_many() -> None:
    assert_same_scripts(300, MANY)


X = torch.tensor([-1.0, 2.0])
ZEROED, AS_IT_IS = [0.0, 2.0], [-1.0, 2.0]


def relu(fx: Any = engine) -> Any:
    return fx.symbolic_trace(nn.Sequential(nn.ReLU()))


def without_relu(graph: Any) -> None:
    given, called = list(graph.nodes)[:2]
    called.replace_all_uses_with(given)
    graph.erase_node(called)


@pytest.fixture(params=[torch.fx, engine], ids=["torch.fx", "fxls"])
def fx(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_module_whose_graph_went_to_another_one_computes_what_it_did(fx: Any) -> None:
    old = relu(fx)

    without_relu(old.graph)
    new = fx.GraphModule(old, old.graph)

    assert (old(X).tolist(), new(X).tolist()) == (ZEROED, AS_IT_IS)


def test_each_of_many_modules_on_one_graph_computes_its_own(fx: Any) -> None:
    graph = fx.Graph()
    value = graph.placeholder("x")
    graph.output(value)
    modules: list[Any] = []
    for _ in range(100):
        modules.append(fx.GraphModule({}, graph))
        with graph.inserting_before(graph.output_node()):
            value = graph.call_function(torch.add, (value, 1))
        graph.output_node().args = (value,)

    results = [module(torch.zeros(1)).item() for module in reversed(modules)]

    assert results == list(range(99, -1, -1))


def test_the_code_of_a_block_that_transforms_it_stays(fx: Any) -> None:
    module = relu(fx)
    with module.graph.on_generate_code(lambda _: negating):
        module.recompile()

    assert "_0 = -_0" in module.code
    assert module(X).tolist() == [0.0, -2.0]


def negating(body: list[str]) -> list[str]:
    at = next(i for i, line in enumerate(body) if line.startswith("return"))
    return [*body[:at], "_0 = -_0\n", *body[at:]]


def test_the_name_of_the_function_is_that_of_the_recompile() -> None:
    module = relu()
    module.graph._codegen._func_name = "other"

    assert "def forward(" in module.code
    assert module(X).tolist() == ZEROED


def test_nested_inputs_are_flattened_as_they_were(fx: Any) -> None:
    def add(pair: Any) -> Any:
        return pair[0] + pair[1]

    module = fx.symbolic_trace(add, concrete_args={"pair": (fx.PH, fx.PH)})
    module.graph.set_codegen(fx.graph.CodeGen())

    assert module((torch.ones(1), torch.ones(1))).tolist() == [2.0]


def test_clearing_a_graph_takes_nothing_from_its_module() -> None:
    module = relu()
    module.graph._clear_nodes()

    assert module(X).tolist() == ZEROED


def test_an_edit_that_is_undone_leaves_what_was() -> None:
    module = relu()
    checkpoint = Checkpoint(module.graph)
    without_relu(module.graph)
    module.recompile()
    checkpoint.restore()

    assert module(X).tolist() == AS_IT_IS
    assert engine.Interpreter(module).run(X).tolist() == ZEROED
    module.recompile()
    assert module(X).tolist() == ZEROED


def test_an_interpreter_runs_the_graph_as_it_is_also_when_nodes_came_back() -> None:
    module = relu()
    graph = module.graph
    assert engine.Interpreter(module).run(X).tolist() == ZEROED

    graph._clear_nodes()
    value = graph.placeholder("x")
    graph.output(graph.call_function(torch.neg, (value,)))

    assert engine.Interpreter(module).run(X).tolist() == [1.0, -2.0]


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy])
def test_a_copy_is_of_the_graph_as_it_is(fx: Any, copied: Any) -> None:
    module = relu(fx)
    without_relu(module.graph)

    made = copied(module)

    assert (module(X).tolist(), made(X).tolist()) == (ZEROED, AS_IT_IS)


def test_a_pickle_is_of_the_graph_as_it_is_and_leaves_the_module_alone() -> None:
    module = relu()
    without_relu(module.graph)

    made = pickle.loads(pickle.dumps(module))

    assert (module(X).tolist(), made(X).tolist()) == (ZEROED, AS_IT_IS)


def test_text_that_was_read_before_the_edit_is_what_runs_behind_it(fx: Any) -> None:
    module = relu(fx)
    text = module.code
    without_relu(module.graph)

    assert module(X).tolist() == ZEROED
    assert module.code == text


def test_the_code_that_recompile_returned_is_that_of_its_moment() -> None:
    module = relu()
    code = module.recompile()
    without_relu(module.graph)
    module.recompile()

    assert 'self, "0")(' in code.src
    assert 'self, "0")(' not in module.code


def test_an_error_names_the_node_as_it_was() -> None:
    module = relu()
    node = list(module.graph.nodes)[1]
    node.name = "renamed"
    with pytest.raises(TypeError) as raised:
        module(None)

    assert raised.value.__notes__[0].startswith("Node _0 of ")


def test_what_a_graph_was_is_kept_for_nobody() -> None:
    module = relu()
    graph = module.graph
    kept = weakref.ref(list(graph.nodes)[1])

    module.recompile()
    without_relu(graph)
    module.recompile()
    gc.collect()

    assert kept() is None


def test_a_graph_may_name_a_node_that_it_does_not_have() -> None:
    module = relu()
    _, called, output = module.graph.nodes
    stray = engine.Graph().placeholder("stray")
    output.args = (stray,)
    module.recompile()
    called.args = (stray,)

    assert "return stray" in module.code
    assert list(stray.users) == [output, called]
