"""A graph module as a listing: the whole of it, by what a reader sees."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine import Graph, GraphModule, Tracer, symbolic_trace
from fxls.engine.passes.shape_prop import ShapeProp
from fxls.engine.subgraph_rewriter import replace_pattern
from fxls.listing import Identity, Items, Listing, Place, Plain, Role, Tensor, Value
from fxls.listing.sidecar import decode, encode
from fxls.runtime import listing_of
from tests.engine.parser_oracle import marks_by_parser
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples
from tests.runtime import nets

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def test_a_listing_has_the_text_and_knows_each_node() -> None:
    traced = symbolic_trace(nets.Net())
    ShapeProp(traced).propagate(torch.ones(2, 4), None)
    listing = listing_of(traced, entry="Net()(torch.ones(2, 4))")
    assert listing.identity == Identity("tests.runtime.nets", "Net")
    assert listing.entry == "Net()(torch.ones(2, 4))"
    assert listing.parameters == 24
    assert listing.text.splitlines()[listing.definition].startswith("def forward(")
    assert [Path(source.path).name for source in listing.sources] == ["nets.py"]
    assert drawn(listing) == DRAWN


class Layers(nn.Module):
    """Layers whose results are as wide as they say, and one that says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.conv = nn.Conv1d(2, 5, 1)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.conv(self.linear(x)))


def test_a_layer_says_how_wide_its_result_is() -> None:
    listing = listing_of(symbolic_trace(Layers()))

    assert {facts.name: facts.width for facts in listing.nodes} == {
        "x": None,
        "linear": 3,
        "conv": 5,
        "relu": None,
        "output": None,
    }


def fused(x: Any) -> Any:
    a = torch.neg(x)
    b = torch.abs(a)
    return b + 1


def distance(x: Any) -> Any:
    return torch.abs(torch.neg(x))


def square(x: Any) -> Any:
    return torch.square(x)


def test_a_node_that_stands_for_several_comes_from_all_of_them() -> None:
    traced = symbolic_trace(fused)
    replace_pattern(traced, distance, square)

    listing = decode(encode(listing_of(traced)), "")

    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    spans = [one.places[0].span for one in listing.origins(1)]
    assert [lines[at.start.line][at.start.column : at.end.column] for at in spans] == [
        "torch.abs(a)",
        "torch.neg(x)",
        "torch.square(x)",
    ]
    assert listing.origin(1) == listing.origins(1)[0]
    assert [len(listing.origins(node)) for node in (0, 2, 3)] == [1, 1, 1]


@zoo
def test_the_text_ends_with_the_code(example: Example) -> None:
    module = symbolic_trace(example.make())
    assert listing_of(module).text.endswith(f"\n\n\n{module.code.strip()}\n")


@zoo
def test_marks_are_where_the_parser_finds_names(example: Example) -> None:
    module = symbolic_trace(example.make())
    listing = listing_of(module)
    assert list(listing.marks) == marks_by_parser(listing.text, module.graph)
    assert listing.text.splitlines()[listing.definition].startswith("def forward(")
    for index, facts in enumerate(listing.nodes):
        bound = [m.line for m in listing.marks_of(index) if m.role is Role.BINDS]
        assert facts.line in bound or facts.name == "output"


@zoo
def test_what_is_compiled_from_the_text_computes_the_same(example: Example) -> None:
    module = symbolic_trace(example.make())
    names = dict(module.recompile().globals)
    exec(compile(listing_of(module).text, "listing.py", "exec"), names)
    forward: FunctionType = names["forward"]
    assert_same(forward(module, *example.inputs()), module(*example.inputs()))


@zoo
def test_a_listing_made_again_is_the_same_and_survives_its_encoding(
    example: Example,
) -> None:
    module = symbolic_trace(example.make())
    ShapeProp(module).propagate(*example.inputs())
    again = symbolic_trace(example.make())
    ShapeProp(again).propagate(*example.inputs())
    listing = listing_of(module)
    assert listing == listing_of(module) == listing_of(again)
    assert decode(encode(listing), listing.text) == listing


def test_a_listing_can_be_imported_by_itself() -> None:
    listing = listing_of(symbolic_trace(nets.Net()))
    names: dict[str, Any] = {}
    exec(compile(listing.text, "listing.py", "exec"), names)
    assert {name for name in names if not name.startswith("__")} == {
        *("TYPE_CHECKING", "forward", "fxls", "inf", "torch")
    }


def test_a_function_is_called_by_its_own_name() -> None:
    listing = listing_of(symbolic_trace(nets.increased))
    assert listing.identity == Identity("tests.runtime.nets", "increased")


def test_a_graph_that_nobody_traced_is_called_after_its_module() -> None:
    graph = Graph()
    graph.output(graph.call_function(torch.relu, (graph.placeholder("x"),)))
    listing = listing_of(GraphModule(nn.Module(), graph, "Made"))
    assert listing.identity == Identity("fxls.engine.graph_module", "Made")
    assert [listing.origin(i) for i in range(len(listing.nodes))] == [None] * 3


def test_a_module_whose_repr_raises_is_listed() -> None:
    class Whole(Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    holder = nets.Holder()
    listing = listing_of(holder, Whole().trace(holder))
    details = [facts.detail for facts in listing.nodes if facts.detail]
    assert details == ["<Unreadable, whose repr raises>"]


def test_only_a_graph_module_has_a_listing() -> None:
    with pytest.raises(TypeError, match="Linear is no GraphModule"):
        listing_of(nn.Linear(1, 1))


DRAWN = """\
# The code of Net's graph, written by fxls. To change it, change the model.
import fxls.engine
import torch
from math import inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.runtime.nets import halved as tests_runtime_nets_halved


fxls.engine.wrap("tests_runtime_nets_halved")

def forward(self, x : torch.Tensor, y = None) -> tuple[torch.Tensor,float]:
    linear = self.linear(x);  x = None
    relu = torch.relu(linear);  linear = None
    block_scale = self.block.scale
    mul = relu * block_scale;  relu = block_scale = None
    sum_1 = mul.sum(dim = 1);  mul = None
    halved = tests_runtime_nets_halved(sum_1, by = 4);  sum_1 = None
    return (halved, inf)


x: placeholder x()
  line    def forward(self, x : torch.Tensor, y = None) -> tuple[torch.Tensor,float]:
  users   linear
  origin  Net.forward: x
  value   float32[2, 4]
y: placeholder y(None)
  line    def forward(self, x : torch.Tensor, y = None) -> tuple[torch.Tensor,float]:
  origin  Net.forward: y
  value   NoneType
linear: call_module linear(<x>)
  line    linear = self.linear(x);  x = None
  users   relu
  modules linear:torch.nn.modules.linear.Linear
  origin  Net.forward: self.linear(x)
  value   float32[2, 4]
  detail  Linear(in_features=4, out_features=4, bias=True)
relu: call_function torch.relu(<linear>)
  line    relu = torch.relu(linear);  linear = None
  users   mul
  modules block:tests.runtime.nets.Block
  origin  Block.forward: torch.relu(x) < Net.forward: self.block(self.linear(x))
  value   float32[2, 4]
block_scale: get_attr block.scale()
  line    block_scale = self.block.scale
  users   mul
  modules block:tests.runtime.nets.Block
  origin  Block.forward: self.scale < Net.forward: self.block(self.linear(x))
  value   float32[4]
  detail  Parameter float32[4]
mul: call_function operator.mul(<relu>, <block_scale>)
  line    mul = relu * block_scale;  relu = block_scale = None
  users   sum_1
  modules block:tests.runtime.nets.Block
  origin  Block.forward: torch.relu(x) * self.scale < Net.forward: self.block(self.linear(x))
  value   float32[2, 4]
sum_1: call_method sum(<mul>, dim=1)
  line    sum_1 = mul.sum(dim = 1);  mul = None
  users   halved
  origin  Net.forward: hidden.sum(dim=1)
  value   float32[2]
halved: call_function tests.runtime.nets.halved(<sum_1>, by=4)
  line    halved = tests_runtime_nets_halved(sum_1, by = 4);  sum_1 = None
  users   output
  origin  Net.forward: halved(hidden.sum(dim=1), by=4)
  value   float32[2]
output: output output((<halved>, inf))
  line    return (halved, inf)
  origin  Net.forward: return halved(hidden.sum(dim=1), by=4), math.inf
  value   tuple(float32[2], float inf)"""


def drawn(listing: Listing) -> str:
    """A listing as text: what a reader sees, and below it what is known."""
    rows = [listing.text, ""]
    for index, facts in enumerate(listing.nodes):
        args = ", ".join(
            [
                *(_pieces(listing, arg) for arg in facts.args),
                *(f"{key}={_pieces(listing, arg)}" for key, arg in facts.kwargs),
            ]
        )
        line = listing.text.splitlines()[facts.line].strip()
        rows.append(f"{facts.name}: {facts.opcode} {facts.target}({args})")
        rows.append(f"  line    {line}")
        users = " ".join(listing.nodes[user].name for user in facts.users)
        scopes = " > ".join(f"{s.path}:{s.type}" for s in listing.module_path(index))
        origin = listing.origin(index)
        places = origin.places if origin else ()
        spans = " < ".join(f"{p.function}: {_source(p)}" for p in places)
        rows += [
            f"  {key:8}{value}"
            for key, value in {
                "users": users,
                "modules": scopes,
                "origin": spans,
                "value": facts.value and _value(facts.value),
                "detail": facts.detail,
            }.items()
            if value
        ]
    return "\n".join(rows)


def _pieces(listing: Listing, pieces: tuple[str | int, ...]) -> str:
    return "".join(
        f"<{listing.nodes[p].name}>" if isinstance(p, int) else p for p in pieces
    )


def _source(place: Place) -> str:
    span = place.span
    line = linecache.getline(place.path, span.start.line + 1)
    return line[span.start.column : span.end.column]


def _value(value: Value) -> str:
    match value:
        case Tensor():
            return f"{value.dtype}{list(value.shape)}"
        case Items():
            return f"{value.kind}({', '.join(map(_value, value.items))})"
        case Plain():
            return f"{value.kind} {value.text}".rstrip()
