"""What a module or function does becomes the same graph as in torch.fx."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import math
import operator
from collections.abc import Callable, Generator
from math import sqrt
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.engine.graph import Graph
from fxls.engine.proxy import Proxy
from fxls.engine.tracing.tracer import Tracer
from tests.engine.oracle import assert_traced_alike


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("scale", torch.ones(3))
        self.plain = torch.zeros(3)
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.linear(x) * self.weight + self.scale - self.plain


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.again = self.block
        self.layers = nn.ModuleList([Block(), nn.ReLU()])
        self.tail = nn.Sequential(nn.Linear(3, 3), Block())
        self.flag = True

    def forward(self, x: torch.Tensor, flag: bool = True) -> torch.Tensor:
        x = self.block(self.again(x))
        for layer in self.layers:
            x = layer(x)
        if self.flag:
            x = x + self.block.weight
        return functional.relu(self.tail(x)) + torch.ones(3)


class Size(NamedTuple):
    height: Any
    width: Any


class Mode(enum.Enum):
    FAST = 1


@dataclasses.dataclass
class Options:
    scale: Any
    mode: Mode


def operators(x: Any, y: Any) -> Any:
    a = (x + 1) * (2 - y) / (x // 3) % y
    b = 2**x + x**2 - abs(x) + (-x) + (+x)
    c = (~x & y) | (x ^ 1) & (1 << x) >> y
    return a @ b, c, x < y, x == y, x != 0, 7 // x, 5 % x, [3] @ x


def items(x: Any) -> Any:
    return x[0], x[1:, ..., None], x["key"][:: x.shape[0]], x[{"a": 1}["a"]]


def unpacking(x: Any) -> Any:
    (a, b), c = x
    n, m = a.shape
    return a + b * c.view(n * m)


def attributes(x: Any) -> Any:
    method = x.relu
    return x.shape, x.a.b.c(2), method(inplace=True), x(3), x.T


def torch_functions(x: Any) -> Any:
    x = torch.cat([x, torch.relu(x)], dim=1)
    x = torch.stack((x, torch.clamp(x, min=0.0)))
    x = functional.dropout(functional.linear(x, x, bias=x), p=0.5)
    return torch.split(x, [1, 2]), torch.add(input=x, other=1), x.softmax(-1)


def literals(x: Any) -> Any:
    y = x.to(torch.float16, device=torch.device("cpu")).to(
        memory_format=torch.channels_last
    )
    return y.f(
        1.5, True, None, 1 - 2j, "text", ..., slice(1, x), range(3), (1, [x], {"k": x})
    )


def in_place(x: Any) -> Any:
    x += 1
    x *= x
    x @= x
    return x


def constants(x: Any) -> Any:
    a = torch.ones(2)
    return a.add(x) + a * x - torch.ones(2)


def everything(x: Any, y: Any = 3, *rest: Any, k: int = 4, **kw: Any) -> Any:
    return x + y + rest[0] + k + kw["z"]


def only_keywords(x: Any, *, k: Any, z: Any = None) -> Any:
    return x + k + z


def mathematics(x: Any) -> Any:
    return math.sqrt(x) + sqrt(x) + math.floor(2.5)


def aggregates(x: Any) -> Any:
    return {"a": [x, (x, 1)], 2: x}, Size(x, 1), Options(x, Mode.FAST)


def closure_of(n: int) -> Callable[[Any], Any]:
    def inner(x: Any) -> Any:
        return [x + i for i in range(n)]

    return inner


def decorated_by(wrapper: Any) -> Callable[..., Any]:
    @wrapper
    def inner(x: Any, scale: Any = 2) -> Any:
        return x * scale

    return inner


def keeping(f: Any) -> Any:
    @functools.wraps(f)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) + 1

    return outer


def with_a_tensor_as_default(x: Any, y: Any = torch.ones(1)) -> Any:  # noqa: B008 - the point
    return x + y


FUNCTIONS: list[Callable[..., Any]] = [
    operators,
    items,
    unpacking,
    attributes,
    torch_functions,
    literals,
    in_place,
    constants,
    everything,
    only_keywords,
    mathematics,
    aggregates,
    closure_of(2),
    decorated_by(keeping),
    with_a_tensor_as_default,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_a_function_becomes_the_graph_of_torch_fx(function: Any) -> None:
    assert_traced_alike(function)


def test_a_module_becomes_the_graph_of_torch_fx() -> None:
    assert_traced_alike(Net())


def test_a_container_of_torch_is_traced_through_and_its_layers_are_leaves() -> None:
    graph = assert_traced_alike(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))

    assert [node.target for node in graph.nodes] == ["input", "0", "1", "output"]


def test_a_context_manager_around_forward_traces_what_is_inside() -> None:
    class Held(nn.Module):
        @torch.no_grad()
        def forward(self, x: Any) -> Any:
            return x + 1

    assert_traced_alike(Held())


def test_a_generator_in_forward_is_run() -> None:
    @contextlib.contextmanager
    def doubled(x: Any) -> Generator[Any]:
        yield x * 2

    def f(x: Any) -> Any:
        with doubled(x) as y:
            return y + 1

    assert_traced_alike(f)


def test_another_method_is_traced_when_the_tracer_names_it() -> None:
    class Coder(nn.Module):
        def encode(self, x: Any) -> Any:
            return x * 2

    class EncodeTracer(Tracer):
        traced_func_name = "encode"

    graph = EncodeTracer().trace(Coder())

    assert [str(node.target) for node in graph.nodes][1:] == [
        str(operator.mul),
        "output",
    ]


def test_a_method_that_does_not_exist_is_named() -> None:
    class EncodeTracer(Tracer):
        traced_func_name = "encode"

    with pytest.raises(AssertionError, match="'encode' doesn't exist in ReLU"):
        EncodeTracer().trace(nn.ReLU())


def test_one_tracer_traces_again_and_again() -> None:
    tracer = Tracer()
    net = Net()

    first = str(tracer.trace(net))
    second = tracer.trace(Block())

    assert str(tracer.trace(Net())) == first
    assert str(second) == str(Tracer().trace(Block()))


def test_modules_nested_150_deep_are_traced() -> None:
    class Wrap(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x) + 1

    module: nn.Module = nn.Identity()
    for _ in range(150):
        module = Wrap(module)

    assert len(Tracer().trace(module).nodes) == 153


def test_unpacking_into_more_names_than_a_byte_can_count_works() -> None:
    names = ", ".join(f"v{i}" for i in range(300))
    namespace: dict[str, Any] = {}
    exec(f"def f(x):\n    {names} = x\n    return v299\n", namespace)

    graph = Tracer().trace(namespace["f"])

    assert len(graph.nodes) == 302


def test_shapes_of_parameters_can_be_plain_numbers() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, 2))

        def forward(self, x: Any) -> Any:
            w = self.weight
            if w.shape[0] == 3 and w.size()[1] == 2 and w.dim() == w.ndim == 2:
                return x * w.numel() + w.nelement()
            return x

    graph = Tracer(param_shapes_constant=True).trace(Branches())

    assert [
        node.args for node in graph.nodes if node.name.startswith(("mul", "add"))
    ] == [
        (next(iter(graph.nodes)), 6),
        (graph.find_nodes(op="call_function", target=operator.mul)[0], 6),
    ]


def test_reads_of_buffers_are_recorded_on_request() -> None:
    class ReadsBuffers(Tracer):
        proxy_buffer_attributes = True

    class Double(nn.Module):
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", torch.ones(1))

        def forward(self, x: Any) -> Any:
            return self.b + self.b + x

    graph = ReadsBuffers().trace(Double())

    assert [n.target for n in graph.nodes if n.op == "get_attr"] == ["b"]


def test_asserts_are_recorded_on_request() -> None:
    class Asserting(Tracer):
        trace_asserts = True

    # As text, because pytest replaces the assert statements of its tests.
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    assert x.sum() > 0, 'negative'\n    return x\n", namespace)
    graph = Asserting().trace(namespace["f"])

    assert [node.name for node in graph.nodes] == [
        "x",
        "sum_1",
        "gt",
        "assert_fn",
        "output",
    ]


def test_a_proxy_is_copied_with_its_node() -> None:
    graph = Graph()
    proxy = Proxy(graph.placeholder("x"))

    copied = copy.deepcopy(proxy)

    assert copied.node is not proxy.node
    assert copied.node.name == "x"


def test_a_tracer_is_copied_before_and_after_tracing() -> None:
    class Mine(Tracer):
        pass

    fresh = copy.deepcopy(Mine())
    used = Mine()
    used.trace(Net())

    assert str(copy.deepcopy(used).trace(Block())) == str(fresh.trace(Block()))
    assert type(fresh) is Mine


def test_a_proxy_outside_of_tracing_appends_to_its_graph() -> None:
    graph = Graph()
    x: Any = Proxy(graph.placeholder("x"))
    y: Any = torch.relu(x) + 1

    graph.output(y.node)

    assert str(graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu]"
        "(args = (%x,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%relu, 1), kwargs = {})\n"
        "    return add"
    )
