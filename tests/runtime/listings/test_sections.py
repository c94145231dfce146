"""Long code is run in sections, and is otherwise what it would be in one piece."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import operator
import traceback
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.engine import GraphModule, symbolic_trace
from fxls.ide.definition import definition
from fxls.ide.folding_ranges import folds
from fxls.ide.listing.document import Document
from fxls.listing import Listing, Role
from fxls.runtime import listing_of
from fxls.runtime.listings import section_cuts as cuts
from fxls.runtime.listings import sections
from fxls.store import Store
from tests.engine.parser_oracle import marks_by_parser
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples
from tests.runtime.deep_nets import Deep, Small
from tests.runtime.producers.looking import forward_of

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


@pytest.fixture
def short_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything with more than a line is in sections of three at most."""
    monkeypatch.setattr(sections, "LONGEST", 1)
    monkeypatch.setattr(cuts, "SECTION", 3)


@zoo
@pytest.mark.usefixtures("short_sections")
def test_the_same_is_computed(example: Example, store: Store) -> None:
    module = symbolic_trace(example.make())
    retraced = symbolic_trace(module)
    expected = example.make()(*example.inputs())
    assert_same(module(*example.inputs()), expected)
    assert retraced.code == module.code
    assert store.identities()


@zoo
@pytest.mark.usefixtures("short_sections")
def test_marks_are_where_the_parser_finds_names(example: Example) -> None:
    module = symbolic_trace(example.make())
    listing = listing_of(module)
    declared = lines_of_declarations(listing.text)
    found = marks_by_parser(listing.text, module.graph)
    assert list(listing.marks) == [m for m in found if m.line not in declared]
    for index, facts in enumerate(listing.nodes):
        bound = [m.line for m in listing.marks_of(index) if m.role is Role.BINDS]
        assert facts.line in bound or facts.name == "output"


@pytest.mark.usefixtures("short_sections")
def test_sections_name_what_they_share() -> None:
    assert listing_of(symbolic_trace(Small())).text == SMALL


SMALL = """\
# The code of Small's graph, written by fxls. To change it, change the model.
import torch


def forward(self, x : torch.Tensor, y : torch.Tensor) -> torch.Tensor:
    # In sections, because a debugger is slow in a long function. Values that several
    # of them need are variables of the forward.
    if torch.compiler.is_compiling():
        sub = mul = None

    def section_0():
        nonlocal self, sub, x, y
        sub = x - y;  x = y = None

    def section_1_inner():
        nonlocal self, sub, mul
        add = sub + 1
        relu = torch.relu(add);  add = None
        mul = relu * 2;  relu = None

    def section_2():
        nonlocal self, mul, sub
        add_1 = mul + sub;  mul = sub = None
        return add_1

    section_0()
    section_1_inner()
    return section_2()
"""


def test_a_short_listing_is_one_function() -> None:
    graph = added(1000)
    listing = listing_of(GraphModule({}, graph))
    assert listing.text.endswith(f"\n\n\n{GraphModule({}, graph).code.strip()}\n")


@pytest.fixture(params=["engine", "torch.fx"])
def deep(request: pytest.FixtureRequest, store: Store) -> tuple[Any, Listing]:
    """A long graph module of either producer, and its listing."""
    trace: Callable[[nn.Module], Any]
    trace = symbolic_trace if request.param == "engine" else torch.fx.symbolic_trace
    made = trace(Deep().eval())
    return made, fxls.listing_of(made)


def test_the_code_stays_that_of_fx(deep: tuple[Any, Listing]) -> None:
    module, listing = deep
    assert module.code == module.graph.python_code("self").src
    assert inspect.getsource(module.forward).strip() == module.code.strip()
    assert "def section_0_blocks():" in listing.text


def test_sections_are_bounded_and_end_between_modules(
    deep: tuple[Any, Listing],
) -> None:
    module, listing = deep
    functions = list(inner(forward_of(module).__code__))
    names = {facts.line + 1: facts.name for facts in listing.nodes}
    lengths: list[int] = []
    for function in functions:
        lines = {line for _, _, line in function.co_lines() if line in names}
        lengths.append(len(lines))
        if function is not functions[0]:
            assert names[min(lines)].endswith(("linear", "add_300"))
    assert sum(lengths) == len(listing.nodes) - 1
    assert max(lengths) <= cuts.SECTION


def test_the_editor_finds_its_way_across_sections(deep: tuple[Any, Listing]) -> None:
    _, listing = deep
    document = Document("deep.py", listing)
    lines = listing.text.split("\n")
    place = next(i for i, f in enumerate(listing.nodes) if f.name == "mul__31")
    bound = document.binding(place)
    assert bound is not None
    border = next(
        i for i in range(bound.line, len(lines)) if "def section_1" in lines[i]
    )
    first = next(i for i, f in enumerate(listing.nodes) if f.line > border)
    assert listing.nodes[first].name == "blocks_32_linear"
    (read,) = (
        m for m in document.marks_of(place) if m.line == listing.nodes[first].line
    )
    jump = definition(document, read.span.start)
    assert jump is not None
    assert [there.focus for there in jump.destinations] == [bound.span]
    assert lines[read.line][read.column :].startswith("mul__31")
    (blocks,) = (f for f in folds(document) if f.text == "blocks.32 Block …")
    assert (lines[blocks.first], lines[blocks.last]) == (
        lines[listing.nodes[first].line],
        next(line for line in lines if line.lstrip().startswith("mul__32 =")),
    )


def test_it_is_copied_and_saved(deep: tuple[Any, Listing]) -> None:
    module, _ = deep
    x = torch.randn(2, 4)
    expected = module(x)
    saved = io.BytesIO()
    torch.save(module, saved)
    saved.seek(0)
    for other in (copy.deepcopy(module), torch.load(saved, weights_only=False)):
        assert_same(other(x), expected)


@pytest.mark.slow
def test_it_is_compiled(deep: tuple[Any, Listing]) -> None:
    module, _ = deep
    x = torch.randn(2, 4)
    compiled = cast("Any", torch).compile(module, backend="eager", fullgraph=True)
    assert_same(compiled(x), module(x))


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_torch_can_script_it() -> None:
    module = torch.fx.symbolic_trace(Deep().eval())
    x = torch.randn(2, 4)
    assert_same(cast("Any", torch).jit.script(module)(x), module(x))


@pytest.mark.usefixtures("store")
def test_what_is_traced_anew_has_the_origins_that_it_had() -> None:
    made = symbolic_trace(Deep().eval())
    first, again = listing_of(made), listing_of(symbolic_trace(made))
    nodes = range(len(first.nodes))
    assert all(first.origins(node) for node in nodes)
    assert [*map(again.origins, nodes)] == [*map(first.origins, nodes)]


def test_values_die_where_they_die_in_one_piece(store: Store) -> None:
    alive: list[weakref.ref[torch.Tensor]] = []
    most: list[int] = []

    def watched(x: torch.Tensor) -> torch.Tensor:
        made = x + 1
        alive.append(weakref.ref(made))
        most.append(sum(one() is not None for one in alive))
        return made

    gc.disable()
    graph = engine.Graph()
    x = first = graph.placeholder("x")
    for _ in range(1500):
        x = graph.call_function(watched, (x,))
    graph.output(graph.call_function(operator.add, (x, first)))
    GraphModule({}, graph)(torch.ones(2))
    gc.enable()
    assert max(most) == 2
    assert store.identities()


def test_an_error_names_the_node_in_its_section(deep: tuple[Any, Listing]) -> None:
    module, listing = deep
    module.get_submodule("blocks.200").linear = nn.Linear(5, 5)
    with pytest.raises(RuntimeError) as raised:
        module(torch.randn(2, 4))
    summary = traceback.extract_tb(raised.tb)
    (line,) = (f.lineno for f in summary if f.name.startswith("section_"))
    (node,) = (f for f in listing.nodes if f.name == "blocks_200_linear")
    assert line == node.line + 1


def test_code_of_a_codegen_that_writes_otherwise_is_one_function() -> None:
    graph = added(1500)
    graph.set_codegen(Logging())
    listing = listing_of(GraphModule({}, graph))
    assert "section" not in listing.text


class Logging(engine.CodeGen):
    def generate_output(self, output_args: Any, **_: Any) -> str:
        return f"if True:\n    return {output_args!r}"


def added(count: int) -> engine.Graph:
    graph = engine.Graph()
    x = graph.placeholder("x")
    for _ in range(count):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    return graph


def inner(code: CodeType) -> Any:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def lines_of_declarations(text: str) -> set[int]:
    """The lines that say which variables several sections have."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if "is_compiling()" in line]
    found: set[int] = set()
    for start in starts:
        at = start + 1
        while lines[at].startswith(" " * 8):
            found.add(at)
            at += 1
    return found
