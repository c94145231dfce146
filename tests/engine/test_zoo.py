"""For every module of the zoo our engine says and does what torch.fx does."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
import torch.fx
from torch.fx.passes.shape_prop import ShapeProp as TorchShapeProp

from fxls import engine as fx
from fxls.engine.code.codegen import marked_code
from fxls.engine.passes.shape_prop import ShapeProp
from fxls.listing import Role
from tests.engine.parser_oracle import marks_by_parser
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def traced(example: Example) -> fx.GraphModule:
    return fx.symbolic_trace(example.make())


def told(module: Any) -> tuple[str, str]:
    """The graph and the code of a module of either engine; one word differs."""
    code = module.code.replace("torch.fx._symbolic_trace.wrap", "fxls.engine.wrap")
    return str(module.graph), code


def test_the_zoo_has_every_opcode_and_no_name_twice() -> None:
    names = [example.name for example in examples()]
    opcodes = {node.op for one in examples() for node in traced(one).graph.nodes}

    assert len(names) >= 100
    assert len(set(names)) == len(names)
    assert opcodes == {
        "placeholder",
        "get_attr",
        "call_function",
        "call_method",
        "call_module",
        "output",
    }


@zoo
def test_graph_and_code_are_those_of_torch_fx(example: Example) -> None:
    theirs = torch.fx.symbolic_trace(example.make())

    assert told(traced(example)) == told(theirs)


@zoo
def test_the_generated_forward_computes_what_the_module_does(example: Example) -> None:
    expected = example.make()(*example.inputs())

    assert_same(traced(example)(*example.inputs()), expected)


@zoo
def test_the_interpreter_computes_what_the_module_does(example: Example) -> None:
    expected = example.make()(*example.inputs())
    module = traced(example)

    assert_same(fx.Interpreter(module).run(*example.inputs()), expected)


@zoo
def test_tracing_the_result_gives_the_same_graph(example: Example) -> None:
    module = traced(example)

    again = fx.symbolic_trace(module)

    assert told(again) == told(module)


@zoo
def test_transforming_nothing_gives_the_graph_that_torch_fx_gives(
    example: Example,
) -> None:
    theirs = torch.fx.Transformer(torch.fx.symbolic_trace(example.make())).transform()
    module = traced(example)

    ours = fx.Transformer(module).transform()

    assert told(ours) == told(theirs)
    origins = {node.name: node.origin for node in module.graph.nodes}
    assert all(
        node.origin == origins[node.name]
        for node in ours.graph.nodes
        if node.name in origins
    )


@zoo
def test_every_graph_is_well_formed(example: Example) -> None:
    traced(example).graph.lint()


@zoo
def test_a_deep_copy_is_the_same(example: Example) -> None:
    module = traced(example)

    again = copy.deepcopy(module)

    assert told(again) == told(module)
    assert_same_notes(again.graph, module.graph)
    assert_same(again(*example.inputs()), module(*example.inputs()))


@zoo
def test_a_pickle_comes_back_the_same(example: Example) -> None:
    module = traced(example)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)

    for again in (
        pickle.loads(pickle.dumps(module)),
        torch.load(file, weights_only=False),
    ):
        assert told(again) == told(module)
        assert_same_notes(again.graph, module.graph)
        again.graph.lint()
        assert_same(again(*example.inputs()), module(*example.inputs()))


def assert_same_notes(graph: fx.Graph, expected: fx.Graph) -> None:
    for node, other in zip(graph.nodes, expected.nodes, strict=True):
        assert node.origin == other.origin
        assert node.meta == other.meta
        assert list(map(str, node.users)) == list(map(str, other.users))


@zoo
def test_shapes_are_those_that_torch_fx_finds(example: Example) -> None:
    theirs = torch.fx.symbolic_trace(example.make())
    TorchShapeProp(theirs).propagate(*example.inputs())
    ours = traced(example)
    ShapeProp(ours).propagate(*example.inputs())

    for node, other in zip(ours.graph.nodes, theirs.graph.nodes, strict=True):
        assert node.meta.get("tensor_meta") == other.meta.get("tensor_meta")
        assert node.meta["type"].__name__ == other.meta["type"].__name__


@zoo
def test_marks_are_those_that_the_parser_finds(example: Example) -> None:
    graph = traced(example).graph

    marked = marked_code(graph)

    text = marked.code.src
    assert marked.code == graph.python_code("self")
    assert list(marked.marks) == marks_by_parser(text, graph)
    assert text.split("\n")[marked.definition].startswith("def forward(")
    for i, node in enumerate(graph.nodes):
        bound = [m.line for m in marked.marks if (m.node, m.role) == (i, Role.BINDS)]
        if node.op == "output":
            assert text.split("\n")[marked.lines[i]].startswith("    return ")
        else:
            assert marked.lines[i] in bound
