"""A pass, or a backend, of the program that raises itself has a script with its source."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from fxls.verdicts.comparison import Comparison, Reproducer
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    any_torch,
    aten,
    config,
    without_kernels,
)
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = COMPILING

custom: Any = importlib.import_module("torch._inductor.custom_graph_pass")
CustomGraphPass: Any = custom.CustomGraphPass

ROWS = 4
LOGGED: Any = object()


class NoGood(Exception):
    """What a program raises of its own."""


def mixed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    waves = (x @ w).sin().cos() + 1.0
    return functional.relu(waves).tanh().sum(-1)


def check(node: Any, limit: int = ROWS) -> None:
    if node.meta["val"].shape[0] == limit:
        raise NoGood(f"no relu of {limit} rows")


def checks(graph: Any) -> None:
    """It reads a function, a class, an operator and a number of the program."""
    for node in graph.nodes:
        if node.target is aten.relu.default:
            check(node)


class Checks(CustomGraphPass):
    """The same as an object that holds a number."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, graph: Any) -> None:
        for node in graph.find_nodes(op="call_function", target=aten.relu.default):
            check(node, self.limit)

    def uuid(self) -> Any:
        return None


def reads_a_note(graph: Any) -> None:
    """It asks captured nodes for what only those behind AOTAutograd note."""
    for node in graph.nodes:
        if node.op != "output":
            check(node)


def logs(graph: Any) -> None:
    LOGGED.info(len(graph.nodes))


def plots(graph: Any) -> None:
    raise NoGood(f"no pass of {pytest.approx(len(graph.nodes))}")


def counts(*graphs: Any) -> None:
    raise NoGood(f"no pass of {len(graphs)} graphs")


def found(
    numbers: Numbers, backend: Any = without_kernels, **passes: Any
) -> Comparison:
    """What is found in a program with these passes, or with this backend."""
    inputs = torch.randn(4, 8), torch.randn(8, 6)
    with config.patch(passes), pytest.raises(Exception) as raised:  # noqa: PT011  # it is asked of the fault
        numbers.run(mixed, *inputs, backend=backend)
    return numbers.found(repr(raised.value), is_reproducing=True)


RELU = [
    'add = graph.create_node("call_function", torch.ops.aten.add.Tensor, (cos, 1.0), {}, "add")',
    'relu = graph.create_node("call_function", torch.ops.aten.relu.default, (add,), {}, "relu")',
    'tanh = graph.create_node("call_function", torch.ops.aten.tanh.default, (relu,), {}, "tanh")',
]


def made(script: Reproducer) -> Sequence[str]:
    """The lines of a script that make nodes."""
    lines = script.text.splitlines()
    return [line.strip() for line in lines if "graph.create_node(" in line]


@pytest.mark.parametrize("wrong", [checks, Checks(4)], ids=["function", "object"])
def test_a_pass_that_raises_is_its_source_and_the_nodes_around_the_one_it_was_at(
    wrong: Callable[[Any], None], numbers: Numbers, tmp_path: Path
) -> None:
    small, whole = found(numbers, post_grad_custom_post_pass=wrong).reproducers

    assert small.claim == (
        "The pass post_grad_custom_post_pass raises on the graph that it is given:"
        " NoGood: no relu of 4 rows"
    )
    assert made(small) == RELU
    assert (small.nodes, small.compiles, whole.nodes) == (3, False, 7)
    assert [said(one.text, tmp_path) for one in (small, whole)] == [WRONG, WRONG]
    assert "torch.rand((4, 6))" in small.text
    other = small.text.replace("torch.rand((4, 6))", "torch.rand((5, 6))")
    assert said(other, tmp_path) == RIGHT
    code, words = said(small.text.replace("no relu", "no good relu", 1), tmp_path)
    assert (code, words) != WRONG, "another error is another fault"


def test_nodes_note_what_they_did_in_the_program(
    numbers: Numbers, tmp_path: Path
) -> None:
    scripts = found(numbers, pre_grad_custom_pass=reads_a_note).reproducers

    assert scripts[0].claim.endswith(": KeyError: 'val'")
    assert said(scripts[-1].text, tmp_path) == WRONG
    line = '        node.meta["example_value"] = node.meta.pop("val", None)\n'
    assert line in scripts[-1].text
    noted = scripts[-1].text.replace(line, "        pass\n")
    noted = noted.replace("== limit", "== 0")
    assert said(noted, tmp_path) == RIGHT


def test_a_backend_that_raises_is_its_source_and_the_captured_graph(
    numbers: Numbers, tmp_path: Path
) -> None:
    def refusing(most: int) -> Callable[..., Any]:
        def backend(gm: Any, inputs: Any, *, strict: bool = True) -> Any:
            if strict and len(inputs) > most:
                raise NoGood("too many inputs")
            return gm.forward

        return backend

    any_torch.compiler.reset()
    (script,) = found(numbers, refusing(1)).reproducers

    assert script.claim == (
        "The backend backend raises on the graph that it is given: NoGood: too many inputs"
    )
    assert "most = 1\n" in script.text
    assert said(script.text, tmp_path) == WRONG
    assert said(script.text.replace("most = 1\n", "most = 2\n"), tmp_path) == RIGHT


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (logs, "it reads LOGGED, of which nothing writes the value"),
        (plots, "it reads pytest, which torch and Python alone have not"),
        (counts, "no function of Python raises it that is given a graph by a name"),
    ],
)
def test_what_needs_more_than_torch_has_no_script_and_says_why(
    wrong: Callable[..., None], why: str, numbers: Numbers
) -> None:
    answer = found(numbers, post_grad_custom_post_pass=wrong)

    assert answer.reproducers == ()
    assert answer.no_reproducer == (
        f"post_grad_custom_post_pass raises, and it is the program's own: {why}"
    )
