"""A tracer of one's own changes what is recorded, step by step."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

from fxls.engine.graph import Graph
from fxls.engine.origins.module_scopes import Scope, ScopeContextManager
from fxls.engine.proxy import GraphAppendingTracer, Proxy
from fxls.engine.tracing.proxyable import ProxyableClassMeta
from fxls.engine.tracing.tracer import Tracer


class Inner(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x).neg()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.inner = Inner()
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.inner(x)) * self.weight + self.inner(x)


def _names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_leaf_modules_are_what_the_tracer_says() -> None:
    class Shallow(Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return module_qualified_name == "inner"

    assert _names(Shallow().trace(Net())) == [
        "x",
        "inner",
        "relu",
        "weight",
        "mul",
        "inner_1",
        "add",
        "output",
    ]


def test_every_node_passes_through_create_node() -> None:
    seen: list[tuple[str, Any]] = []

    class Watching(Tracer):
        def create_node(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append((kind, target))
            return super().create_node(kind, target, *args, **kwargs)

    graph = Watching().trace(Net())

    assert seen == [(node.op, node.target) for node in graph.nodes]
    assert str(graph) == str(Tracer().trace(Net()))


def test_every_value_passes_through_create_arg() -> None:
    class Doubling(Tracer):
        def create_arg(self, a: Any) -> Any:
            return a * 2 if type(a) is int else super().create_arg(a)

    graph = Doubling().trace(lambda x: x.f(1, [2, (3,)], k={"a": 4}))  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType]  # a proxy
    call = list(graph.nodes)[1]

    assert call.args[1:] == (2, [4, (6,)])
    assert call.kwargs == {"k": {"a": 8}}


def test_proxies_are_of_the_class_that_the_tracer_makes() -> None:
    class Mine(Proxy):
        pass

    class Making(Tracer):
        def proxy(self, node: Any) -> Proxy:
            return Mine(node, self)

    kinds: list[type] = []

    def f(x: Any) -> Any:
        y = torch.relu(x) + x.neg()
        kinds.extend(map(type, (x, y)))
        return y

    assert _names(Making().trace(f)) == ["x", "relu", "neg", "add", "output"]
    assert kinds == [Mine, Mine]


def test_calls_of_modules_and_reads_of_attributes_pass_through_the_tracer() -> None:
    called: list[str] = []
    read: list[str] = []

    class Watching(Tracer):
        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            called.append(self.path_of_module(m))
            return super().call_module(m, forward, args, kwargs)

        def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
            read.append(attr)
            return super().getattr(attr, attr_val, parameter_proxy_cache)

    graph = Watching().trace(Net())

    assert called == ["inner", "act", "inner"]
    assert read == ["act", "inner", "weight", "inner"]
    assert str(graph) == str(Tracer().trace(Net()))


def test_parameters_stay_real_when_the_tracer_says_so() -> None:
    class Real(Tracer):
        def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
            return attr_val

    graph = Real().trace(Net())

    assert [node.target for node in graph.nodes if node.op == "get_attr"] == ["weight"]


def test_methods_replaced_on_the_class_or_the_instance_are_obeyed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds: list[str] = []
    original = Tracer.create_node

    def watching(self: Any, kind: str, *args: Any, **kwargs: Any) -> Any:
        kinds.append(kind)
        return original(self, kind, *args, **kwargs)

    monkeypatch.setattr(Tracer, "create_node", watching)
    graph = Tracer().trace(Inner())

    assert kinds == [node.op for node in graph.nodes]


def test_scopes_and_module_stacks_are_those_of_torch_fx() -> None:
    def scopes(tracer: Any) -> tuple[Any, Any]:
        graph = tracer.trace(Net())
        stacks = [node.meta.get("nn_module_stack") for node in graph.nodes]
        return tracer.node_name_to_scope, stacks

    assert scopes(Tracer()) == scopes(torch.fx.Tracer())


def test_a_tracer_may_keep_the_module_stack_itself() -> None:
    class Keeping(Tracer):
        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            self.module_stack["mine"] = ("mine", type(m))
            with ScopeContextManager(self.scope, Scope("mine", type(m))) as scope:
                assert scope is self.scope
                result = self.create_proxy("call_module", "mine", args, kwargs)
            del self.module_stack["mine"]
            return result

    graph = Keeping().trace(Net())

    assert [list(node.meta.get("nn_module_stack", ())) for node in graph.nodes] == [
        [],
        ["mine"],
        ["mine"],
        [],
        [],
        ["mine"],
        [],
        [],
    ]


def test_qualnames_are_free_and_counted() -> None:
    tracer = Tracer()
    tracer.trace(Net())
    tracer.root.extra0 = 1  # pyright: ignore[reportArgumentType]  # any value

    assert tracer.get_fresh_qualname("extra") == "extra1"
    assert tracer.get_fresh_qualname("other") == "other0"


def test_autowrapped_functions_are_recorded_and_only_while_tracing() -> None:
    def f(x: Any) -> Any:
        return helper(x) + operator.neg(x)

    graph = Tracer(autowrap_functions=(helper,)).trace(f)

    assert _names(graph) == ["x", "helper", "neg", "add", "output"]
    assert helper(2) == 4


def test_construction_is_recorded_when_an_argument_is_traced() -> None:
    class Pair(metaclass=ProxyableClassMeta):
        def __init__(self, left: Any, right: Any = 0) -> None:
            if right:
                self.left = left
            self.right = right

    held = Pair(1, 2)

    def f(x: Any) -> Any:
        plain = Pair(3, 4)
        return Pair(x, right=plain.right), x.f(held)

    tracer = Tracer()
    graph = tracer.trace(f)
    nodes = list(graph.nodes)

    assert [(node.op, node.target) for node in nodes[1:]] == [
        ("call_function", Pair),
        ("get_attr", "_Pair_constant_0"),
        ("call_method", "f"),
        ("output", "output"),
    ]
    assert nodes[1].kwargs == {"right": 4}
    assert tracer.root._Pair_constant_0 is held


def test_an_object_can_say_how_it_is_recorded() -> None:
    class Held:
        def __fx_create_arg__(self, tracer: Any) -> Any:
            return tracer.create_node("call_function", Held, (), {})

    def f(x: Any) -> Any:
        return x.f(Held())

    assert [node.op for node in Tracer().trace(f).nodes][1] == "call_function"


def test_a_tracer_that_appends_has_the_documented_parts() -> None:
    graph = Graph()
    tracer = GraphAppendingTracer(graph)
    x = tracer.create_proxy("placeholder", "x", (), {})

    assert tracer.create_arg([x, {"a": (x,)}]) == [x.node, {"a": (x.node,)}]
    assert tracer.node_name_to_scope == {"x": ("", None)}


def helper(x: Any) -> Any:
    return x * 2
