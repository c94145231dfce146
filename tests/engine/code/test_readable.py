# Graphs hold values of any type, and torch says little of the types of its own.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The code that people read says of each node what its meta knows, as torch.fx does."""

from __future__ import annotations

import enum
from typing import Any, cast

import pytest
import torch
import torch.fx

from fxls import engine as fx
from tests.engine.zoo import Example, examples
from tests.engine.zoo.opcodes import Sum

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def noted(engine: Any, example: Example) -> Any:
    """A traced module whose nodes have values and stack traces in their meta."""
    module = engine.symbolic_trace(example.make())

    class Noting(engine.Interpreter):
        def run_node(self, n: Any) -> Any:
            n.meta["val"] = value = super().run_node(n)
            return value

    Noting(module).run(*example.inputs())
    for i, node in enumerate(module.graph.nodes):
        node.meta["stack_trace"] = (
            f'  File "/outer.py", line 1, in call\n    model(x)\n'
            f'  File "/model.py", line {i // 2}, in forward\n    return layer(x)\n'
        )
    return module


def both(example: Example, **form: Any) -> tuple[str, str]:
    texts = [
        noted(engine, example).print_readable(print_output=False, **form)
        for engine in (fx, torch.fx)
    ]
    return texts[0], texts[1].replace("torch.fx._symbolic_trace.", "fxls.engine.")


@zoo
def test_values_and_places_stand_beside_the_nodes(example: Example) -> None:
    ours, theirs = both(example)

    assert ours == theirs


@pytest.mark.parametrize(
    "form",
    [
        {"include_stride": True},
        {"include_device": True},
        {"include_stride": True, "include_device": True, "colored": True},
        {"expanded_def": True},
        {"additional_meta": ["stack_trace", "missing"]},
    ],
    ids=lambda form: "+".join(form),
)
def test_more_is_said_on_request(form: dict[str, Any]) -> None:
    example = next(one for one in examples() if one.name == "Attention")

    ours, theirs = both(example, **form)

    assert ours == theirs


def test_passes_can_say_more() -> None:
    class Policy(enum.Enum):
        MUST_SAVE = 1

    texts: list[str] = []
    for engine in (fx, torch.fx):
        module: Any = engine.symbolic_trace(lambda x: ((x + 1) * 2 - 3) / 4)
        _, add, mul, sub, div, _ = module.graph.nodes
        for node in module.graph.nodes:
            node.meta["stack_trace"] = "nothing that could be read"
        add.meta["custom"] = {"stage": 1, "long": "x" * 50}
        mul.meta["recompute"] = Policy.MUST_SAVE
        sub.meta["ac_graph_id"] = 3
        div.meta.update({"ac_graph_id": 4, "recompute": Policy.MUST_SAVE})
        texts.append(module.print_readable(print_output=False))

    assert texts[0] == texts[1]


def test_a_dtype_that_torch_does_not_abbreviate_has_its_name() -> None:
    module = fx.symbolic_trace(torch.nn.ReLU())
    node = next(n for n in module.graph.nodes if n.op == "call_function")
    node.meta["val"] = torch.empty(2, dtype=cast("Any", torch).int4)

    text = module.print_readable(print_output=False)

    assert 'relu: "int4[2]" = torch.nn.functional.relu' in text
    assert (
        node.format_node(include_tensor_metadata=True)
        == '%relu : Tensor "int4[2][1]cpu"[num_users=1] ='
        " call_function[target=torch.nn.functional.relu]"
        "(args = (%input_1,), kwargs = {inplace: False})"
    )


def test_modules_inside_follow_as_classes() -> None:
    texts: list[str] = []
    for engine in (fx, torch.fx):
        graph = engine.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        inner = engine.symbolic_trace(Sum())
        module = engine.GraphModule({"inner": inner}, graph)
        for one in (*graph.nodes, *inner.graph.nodes):
            one.meta["stack_trace"] = "nothing that could be read"
        texts.append(module.print_readable(print_output=False))

    assert texts[0] == texts[1]


def test_what_is_printed_is_what_is_returned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = fx.symbolic_trace(Sum()).print_readable()

    assert capsys.readouterr().out == text + "\n"


def test_without_a_stack_trace_the_origin_is_shown() -> None:
    source = Sum.forward.__code__

    text = fx.symbolic_trace(Sum()).print_readable(print_output=False)

    place = f"{source.co_filename}:{source.co_firstlineno + 1}"
    assert (
        text.split("\n")[2].strip() == f"# File: {place} in forward, code: return x + y"
    )


def test_a_readable_line_still_leads_to_its_node() -> None:
    graph = fx.symbolic_trace(Sum()).graph

    code = graph.python_code("self", verbose=True)

    lines = code.src.split("\n")[code._prologue_start - 1 :]  # pyright: ignore[reportPrivateUsage]  # FX's name
    found = {lines[at].strip(): place for at, place in code._lineno_map.items()}  # pyright: ignore[reportPrivateUsage]  # FX's name
    assert found["add = x + y;  x = y = None"] == 2
    assert found["return add"] == 3


@zoo
def test_the_table_of_a_graph_is_that_of_torch_fx(
    example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    for engine in (fx, torch.fx):
        engine.symbolic_trace(example.make()).graph.print_tabular()
    printed = capsys.readouterr().out
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]


def test_a_table_whose_targets_are_all_numbers_is_that_of_torch_fx(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for engine in (fx, torch.fx):
        graph = engine.Graph()
        graph.call_module("0")
        graph.call_module("11")
        graph.print_tabular()
    printed = capsys.readouterr().out
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]
