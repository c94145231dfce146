"""The text of a listing in one piece runs in sections, and everything is where it was."""

from __future__ import annotations

import dis
import inspect
import linecache
from collections import Counter
from types import CodeType
from typing import Any

import pytest
import torch

from fxls import engine
from fxls.engine import GraphModule, symbolic_trace
from fxls.runtime import listing_of
from fxls.runtime.listings import section_cuts
from fxls.runtime.listings.sectioned_code import sectioned_code
from fxls.runtime.listings.sections import DRIVER
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples
from tests.runtime.listings.test_sections import Logging, added
from tests.runtime.producers.looking import forward_of

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)

_BOTH = frozenset(
    {"CALL", "BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP", "UNARY_NEGATIVE"}
)
"""Instructions that a function has in the same places, whatever its variables are."""


@pytest.fixture
def short_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections have two lines at most."""
    monkeypatch.setattr(section_cuts, "SECTION", 2)


@zoo
@pytest.mark.usefixtures("short_sections", "store")
def test_the_same_is_computed_and_traced(example: Example) -> None:
    module = symbolic_trace(example.make())
    expected = example.make()(*example.inputs())
    function = forward_of(module)
    function.__code__, _ = sectioned(module)
    assert_same(module(*example.inputs()), expected)
    assert symbolic_trace(module).code == module.code


@zoo
@pytest.mark.usefixtures("short_sections", "store")
def test_every_instruction_is_where_it_was(example: Example) -> None:
    module = symbolic_trace(example.make())
    code, path = sectioned(module)
    assert places(*parts(code)) == places(forward_of(module).__code__)
    _, _, body = module.code.strip().rpartition("\ndef ")
    if body.count("\n") <= 2:
        assert code is forward_of(module).__code__
        return
    assert {part.co_filename for part in parts(code)} == {path}
    assert {part.co_name for part in parts(code)} == {code.co_name}
    assert code.co_filename == f"{DRIVER}{path}>"
    for part in parts(code):
        assert part.co_firstlineno == min(lines_of(part))


@pytest.mark.usefixtures("short_sections", "store")
def test_columns_are_those_of_a_line_with_an_annotation_and_letters_of_two_bytes() -> (
    None
):
    graph = engine.Graph()
    x = graph.placeholder("größe", torch.Tensor)
    for _ in range(5):
        x = graph.create_node("call_function", torch.relu, (x,), type_expr=torch.Tensor)
    graph.output(graph.call_function(torch.add, (x, x)))
    module = GraphModule({}, graph)
    code, _ = sectioned(module)
    assert places(*parts(code)) == places(forward_of(module).__code__)
    assert "relu_4 : torch.Tensor = torch.relu(" in listing_of(module).text


@pytest.mark.usefixtures("store")
def test_its_source_is_that_of_the_whole_function() -> None:
    module = GraphModule({}, added(300))
    function = forward_of(module)
    function.__code__, _ = sectioned(module)
    assert inspect.getsource(function).strip() == module.code.strip()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("count", "codegen"),
    [(100, engine.CodeGen()), (1500, engine.CodeGen()), (300, Logging())],
    ids=["short", "in sections already", "no row of statements"],
)
def test_other_texts_are_left_alone(count: int, codegen: engine.CodeGen) -> None:
    graph = added(count)
    graph.set_codegen(codegen)
    text = listing_of(GraphModule({}, graph)).text
    assert sectioned_code(text, "forward.py") is None


@pytest.mark.usefixtures("store")
def test_sections_of_long_lines_are_short() -> None:
    graph = engine.Graph()
    x = graph.placeholder("x")
    for _ in range(120):
        x = graph.call_function(torch.ops.aten.add.Tensor, (x, 1))
    graph.output(x)
    code, _ = sectioned(GraphModule({}, graph))
    lengths = [len({*lines_of(part)}) for part in parts(code)]
    assert sum(lengths) == 121
    # Python 3.12 and 3.13 find a line slowly that is further from its place.
    for part in parts(code):
        for offset, line in dis.findlinestarts(part):
            place = part.co_firstlineno + offset // 2 // 16
            assert line is None or abs(line - place) < 127


@pytest.mark.usefixtures("store")
def test_every_value_that_is_alive_is_a_variable_of_each_section() -> None:
    graph = engine.Graph()
    x = graph.placeholder("x")
    made = [graph.call_function(torch.add, (x, number)) for number in range(400)]
    graph.output(tuple(made))
    code, _ = sectioned(GraphModule({}, graph))
    *_, last = parts(code)
    assert {"add", "add_200"} < {*last.co_freevars}


def sectioned(module: Any) -> tuple[CodeType, str]:
    """What a module that runs a listing would run with a breakpoint, and the listing."""
    code = forward_of(module).__code__
    text = "".join(linecache.getlines(code.co_filename))
    return sectioned_code(text, code.co_filename) or code, code.co_filename


def lines_of(code: CodeType) -> list[int]:
    return [line for _, _, line in code.co_lines() if line is not None]


def parts(code: CodeType) -> list[CodeType]:
    """The sections; the code itself where it has none."""
    return [one for one in code.co_consts if isinstance(one, CodeType)] or [code]


def places(*codes: CodeType) -> Counter[object]:
    """The places of the instructions that functions have in common."""
    return Counter(
        (one.opname, one.positions)
        for code in codes
        for one in dis.get_instructions(code)
        if one.opname in _BOTH
    )
