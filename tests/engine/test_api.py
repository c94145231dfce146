"""Small parts of the API say what they say in torch.fx."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from torch.fx import _symbolic_trace as their_tracing
from torch.fx import immutable_collections as their_collections
from torch.fx import node as their_node
from torch.fx import proxy as their_proxy

from fxls import engine as fx
from fxls.engine import _symbolic_trace as our_tracing
from fxls.engine import graph, proxy
from fxls.engine import immutable_collections as our_collections
from fxls.engine import node as our_node

_fx: Any = torch.fx
_torch: Any = torch

SYSTEMS = pytest.mark.parametrize("system", [fx, _fx], ids=["ours", "theirs"])


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: Any, k: int = 2) -> Any:
        return torch.relu(self.linear(x)) + k


def described(module: Any, say: Callable[[Any], Any]) -> list[Any]:
    return [say(node) for node in module.graph.nodes]


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "format_node": lambda node: node.format_node(),
    "is_impure": lambda node: node.is_impure(),
    "all_input_nodes": lambda node: list(map(str, node.all_input_nodes)),
    "next": lambda node: str(node.next),
    "prev": lambda node: str(node.prev),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_node_answers_as_in_torch_fx(question: str) -> None:
    say = QUESTIONS[question]

    assert described(fx.symbolic_trace(Model()), say) == described(
        _fx.symbolic_trace(Model()), say
    )


def add_one(x):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]  # a name without a type
    return x + 1  # pyright: ignore[reportUnknownVariableType]  # as above


@SYSTEMS
def test_formatting_collects_names_and_the_type_of_the_result(system: Any) -> None:
    placeholder, add, output = system.symbolic_trace(add_one).graph.nodes
    output.type = int
    names, returns = ["self"], [""]

    assert placeholder.format_node([], []).startswith("%x : [num_users=1]")
    assert placeholder.format_node(names, returns) is None
    assert output.format_node(names, returns) == "return add"
    assert (names, returns) == (["self", "x"], [" -> int"])
    add.meta["val"] = torch.ones(2, 3)
    assert add.format_node(include_tensor_metadata=True) == (
        '%add : Tensor "f32[2, 3][3, 1]cpu"[num_users=1] ='
        " call_function[target=operator.add](args = (%x, 1), kwargs = {})"
    )


@SYSTEMS
def test_a_graph_is_copied_into_another(system: Any) -> None:
    source = system.symbolic_trace(Model()).graph
    target = system.Graph()
    nodes: dict[Any, Any] = {}
    result, output = target.graph_copy(source, nodes, return_output_node=True)
    target.output(result)

    assert str(target) == str(source)
    assert output is source.output_node()
    assert list(nodes) == [node for node in source.nodes if node.op != "output"]


@pytest.mark.parametrize("node", [our_node, their_node], ids=["ours", "theirs"])
def test_every_leaf_of_an_argument_is_mapped(node: Any) -> None:
    argument = (1, [2, {"a": 3}], slice(4, None, 5))

    def ten_times(a: Any) -> Any:
        return a and a * 10

    mapped = node.map_aggregate(argument, ten_times)

    assert mapped == (10, [20, {"a": 30}], slice(40, None, 50))
    with pytest.raises(TypeError):
        mapped[1].append(3)


@pytest.mark.parametrize("node", [our_node, their_node], ids=["ours", "theirs"])
def test_a_function_that_has_effects_is_kept(node: Any) -> None:
    system = fx if node is our_node else _fx

    @node.has_side_effect
    def effect() -> int:
        return 1

    graph = system.Graph()
    graph.call_function(effect)
    graph.call_function(len, ("dead",))
    graph.output(None)
    graph.eliminate_dead_code()

    assert [n.name for n in graph.nodes] == ["effect", "output"]
    assert [n.is_impure() for n in graph.nodes] == [True, True]


LISTS = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "sort",
    "__delitem__",
    "__iadd__",
    "__imul__",
    "__setitem__",
]
DICTS = [
    *("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem"),
    *("setdefault", "update"),
]


@pytest.mark.parametrize("method", LISTS)
def test_a_list_in_an_argument_cannot_be_changed(method: str) -> None:
    for collections in (our_collections, their_collections):
        kept = collections.immutable_list([2, 1])
        change: Any = getattr(kept, method)
        with pytest.raises((TypeError, NotImplementedError)):
            change(0)
        assert list(kept) == [2, 1]


@pytest.mark.parametrize("method", DICTS)
def test_a_dict_in_an_argument_cannot_be_changed(method: str) -> None:
    for collections in (our_collections, their_collections):
        kept = collections.immutable_dict({"a": 1})
        change: Any = getattr(kept, method)
        with pytest.raises((TypeError, NotImplementedError)):
            change({"a": 2})
        assert dict(kept) == {"a": 1}


@pytest.mark.parametrize("tracing", [our_tracing, their_tracing])
def test_whether_something_is_traced_is_known_inside(tracing: Any) -> None:
    said: list[bool] = []

    def program(x: Any) -> Any:
        said.append(tracing.is_fx_symbolic_tracing())
        return x

    tracing.symbolic_trace(program)

    assert said == [True]
    assert not tracing.is_fx_symbolic_tracing()


@pytest.mark.parametrize("tracing", [our_tracing, their_tracing])
def test_placeholders_for_concrete_arguments(tracing: Any) -> None:
    assert isinstance(tracing.PH, tracing.PHBase)
    assert repr(tracing.PH) == "PH"
    assert tracing.PHWithMeta("key").ph_key == "key"


@pytest.mark.parametrize("tracing", [our_tracing, their_tracing])
def test_a_tracer_may_make_the_arguments_of_the_root_itself(tracing: Any) -> None:
    class Tracer(tracing.Tracer):
        def create_args_for_root(
            self, root_fn: Any, is_module: bool, *rest: Any
        ) -> Any:
            either: Any = super()
            made = either.create_args_for_root(root_fn, is_module, *rest)
            made[1][1].node.name = "renamed"
            return made

    graph = Tracer().trace(Model())

    assert [str(node) for node in graph.nodes][:2] == ["renamed", "k"]


@pytest.mark.parametrize("proxies", [proxy, their_proxy], ids=["ours", "theirs"])
def test_the_shape_of_a_parameter_is_a_plain_value(proxies: Any) -> None:
    system = fx if proxies is proxy else _fx
    graph = system.Graph()
    tracer = proxies.GraphAppendingTracer(graph)
    node = graph.get_attr("weight")
    weight = torch.nn.Parameter(torch.ones(2, 3))
    one = proxies.ParameterProxy(tracer, node, "weight", weight)

    assert isinstance(tracer, proxies.TracerBase)
    assert (one.shape, one.size(), one.dim(), one.ndim) == ((2, 3), (2, 3), 2, 2)
    assert (one.numel(), one.nelement(), repr(one)) == (6, 6, "ParameterProxy(weight)")
    with pytest.raises(AssertionError):
        proxies.ParameterProxy(tracer, node, "weight", torch.ones(2))


def test_code_is_made_of_a_source_and_the_values_of_its_names() -> None:
    ours = fx.symbolic_trace(Model()).graph.python_code("self")
    theirs = _fx.symbolic_trace(Model()).graph.python_code("self")

    assert isinstance(ours, graph.PythonCode)
    assert ours.src == theirs.src
    assert ours.globals["torch"] is torch


@SYSTEMS
def test_the_return_is_written_by_the_codegen(system: Any) -> None:
    class Loud(system.CodeGen):
        def generate_output(self, output_args: Any, **form: Any) -> str:
            either: Any = super()
            text: str = either.generate_output(output_args, **form)
            return text.replace("return", "return  ")

    module = system.symbolic_trace(Model())
    module.graph.set_codegen(Loud())
    module.recompile()

    assert module.code.rstrip().endswith("return   add")
    # Torch 2.11 has one form alone.
    takes = inspect.signature(system.CodeGen.generate_output).parameters
    form: dict[str, Any] = {"repr_fn": str} if "repr_fn" in takes else {}
    assert Loud().generate_output((1,), **form) == "return   (1,)"
