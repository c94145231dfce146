"""Arguments that are fixed before tracing, and wrapped functions, as in torch.fx."""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from fxls.engine import errors
from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.origins.resolve import source_line
from fxls.engine.tracing.concrete_args import PH, PHWithMeta
from fxls.engine.tracing.tracer import Tracer
from fxls.engine.tracing.wrap import wrap
from tests.engine.oracle import assert_traced_alike


def branching(x: Any, flag: Any = None, count: Any = 2) -> Any:
    if flag:
        return x * count
    return x if flag is None else -x


def of_dict(d: Any, y: Any) -> Any:
    return {"sum": d["a"] + d["b"][0] + y, "first": d["a"]}


@pytest.mark.parametrize(
    "concrete_args",
    [
        {"flag": True},
        {"flag": False},
        {"flag": True, "count": 3},
        {"flag": "text"},
        (PH, True, PH),
        (PH, 1.5, 2),
    ],
    ids=str,
)
def test_a_fixed_value_decides_branches_and_is_checked(concrete_args: Any) -> None:
    assert_traced_alike(branching, concrete_args)


def test_a_value_that_is_fixed_to_none_is_checked() -> None:
    # Not beside torch.fx: the function that checks is each system's own.
    module = symbolic_trace(branching, {"flag": None})

    assert [node.name for node in module.graph.nodes] == [
        "x",
        "flag_1",
        "_assert_is_none",
        "count",
        "output",
    ]
    assert module(1, None) == 1
    with pytest.raises(AssertionError, match="flag has been specialized to have value"):
        module(1, 2)


def test_placeholders_in_containers_are_flattened() -> None:
    concrete: dict[str, Any] = {"d": {"a": PH, "b": [PH, 3]}}

    assert_traced_alike(of_dict, concrete)
    module = symbolic_trace(of_dict, concrete)

    result = module({"a": torch.ones(1), "b": [torch.ones(1), 3]}, torch.ones(1))
    assert result == {"sum": torch.tensor([3.0]), "first": torch.tensor([1.0])}


def test_the_result_with_containers_is_traced_again() -> None:
    concrete: dict[str, Any] = {"d": {"a": PH, "b": [PH, 3]}}
    inputs = ({"a": torch.ones(1), "b": [torch.ones(1), 3]}, torch.ones(1))
    module = symbolic_trace(of_dict, concrete)

    again = symbolic_trace(module, concrete)

    assert again(*inputs) == module(*inputs)


class Pair(NamedTuple):
    left: Any
    right: Any


def _container(kind: str, a: Any, b: Any) -> Any:
    containers: dict[str, Any] = {
        "namedtuple": Pair(a, b),
        "list": [a, b],
        "tuple": (a, b),
        "dict": {"left": a, "right": b},
        "OrderedDict": OrderedDict(left=a, right=b),
        "deque": deque([a, b]),
    }
    return containers[kind]


@pytest.mark.parametrize(
    "kind", ["namedtuple", "list", "tuple", "dict", "OrderedDict", "deque"]
)
def test_a_container_of_placeholders_is_traced_twice(kind: str) -> None:
    def f(pair: Any) -> Any:
        left, right = pair.values() if "ict" in kind else pair
        return left - right

    once = symbolic_trace(f, concrete_args={"pair": _container(kind, PH, PH)})
    twice = symbolic_trace(once)

    given = _container(kind, torch.tensor([5.0]), torch.tensor([2.0]))
    assert once(given).tolist() == [3.0]
    assert twice(given).tolist() == [3.0]
    assert [n.op for n in twice.graph.nodes].count("placeholder") == 1


def test_a_tuple_of_values_fills_starred_arguments() -> None:
    def total(*values: Any) -> Any:
        return values[0] + values[1]

    class Total(nn.Module):
        def forward(self, *values: Any) -> Any:
            return values[0] + values[1]

    assert_traced_alike(Total(), (PH, PH))
    with pytest.raises(errors.ConcreteArgumentsError, match="expected 0 arguments"):
        Tracer().trace(total, (PH, PH))


def decorated(f: Any) -> Any:
    @functools.wraps(f)
    def outer(self: Any, *args: Any, **kwargs: Any) -> Any:
        return f(self, *args, **kwargs)

    return outer


class ByKeyword(nn.Module):
    @decorated
    def forward(self, x: Any, y: Any = 2, *, scale: Any = 3, **more: Any) -> Any:
        return (x + y) * scale + more.get("bias", 0)


class ByStars(nn.Module):
    @decorated
    @decorated
    def forward(self, x: Any, *rest: Any, **more: Any) -> Any:
        return sum(rest, x) * len(more)


def test_a_decorator_hands_on_keywords() -> None:
    module = symbolic_trace(ByKeyword())

    assert module.code.split("\n", 3)[3] == (
        "def forward(self, x : _Any_, y : _Any_ = 2, scale : _Any_ = 3) -> _Any_:\n"
        "    add = x + y;  x = y = None\n"
        "    mul = add * scale;  add = scale = None\n"
        "    add_1 = mul + 0;  mul = None\n"
        "    return add_1\n"
        "    "
    )
    assert module(1, scale=5) == ByKeyword()(1, scale=5)


def test_a_decorated_forward_with_a_fixed_keyword_checks_it() -> None:
    module = symbolic_trace(ByKeyword(), {"scale": 5})

    assert module(1, 2, 5) == ByKeyword()(1, 2, scale=5)
    with pytest.raises(AssertionError, match="scale has been specialized"):
        module(1, 2, 6)


def test_what_a_decorated_forward_takes_by_stars_is_refused_by_the_graph() -> None:
    module = symbolic_trace(ByStars())

    assert module(2) == ByStars()(2)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3"):
        module(2, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bias'"):
        module(2, bias=1)


def test_an_expression_behind_a_decorator_has_its_line() -> None:
    module = symbolic_trace(ByKeyword())

    add: Any = next(node for node in module.graph.nodes if node.name == "add")

    assert add.origin.places[0].path == __file__
    assert source_line(add.origin.places[0]).strip().startswith("return (x + y) * ")


def test_what_a_placeholder_says_goes_to_the_node() -> None:
    def f(x: Any) -> Any:
        return x

    graph = Tracer().trace(f, {"x": PHWithMeta("key")})

    placeholder: Any = next(iter(graph.nodes))
    assert placeholder.ph_key == "key"


def test_a_value_that_cannot_be_checked_is_warned_of() -> None:
    class Options:
        scale = 2

    def f(x: Any, options: Any) -> Any:
        return x * options.scale

    with pytest.warns(UserWarning, match="Was not able to add assertion"):
        graph = Tracer().trace(f, {"options": Options()})

    assert [node.name for node in graph.nodes] == ["x", "options_1", "mul", "output"]


@wrap
def by_decorator(x: Any) -> Any:
    return x + 1


def by_name(x: Any, *, k: Any = 1) -> Any:
    return x + k


def twice(x: Any) -> Any:
    return x * 2


wrap("by_name")
wrap(twice)
wrap("twice")
wrap("getattr")


def test_wrapped_functions_are_one_node_each() -> None:
    def f(x: Any) -> Any:
        y = by_decorator(x) + by_name(x, k=2)
        return twice(y), twice(2), getattr(x, "shape")  # noqa: B009 - wrapped

    graph = Tracer().trace(f)

    assert [node.name for node in graph.nodes] == [
        "x",
        "by_decorator",
        "by_name",
        "add",
        "twice",
        "getattr_1",
        "output",
    ]
    assert graph.output_node().args[0][1] == 4
    assert [node.meta.get("is_wrapped") for node in graph.nodes][1:3] == [True, True]


def test_wrapped_functions_survive_tracing_again() -> None:
    def f(x: Any) -> Any:
        return twice(by_name(x))

    module = symbolic_trace(f)

    assert symbolic_trace(module).code == module.code


def test_wrap_is_said_at_the_top_of_a_module_with_a_function_or_a_name() -> None:
    with pytest.raises(NotImplementedError, match="top level of a module"):
        wrap("len")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        wrap(3)  # pyright: ignore[reportArgumentType, reportCallIssue]  # the point


def test_the_origin_of_a_node_survives_tracing_again() -> None:
    def f(x: Any) -> Any:
        return torch.relu(x).neg()

    first = symbolic_trace(f)
    again = symbolic_trace(first)

    origins = [node.origin for node in first.graph.nodes]
    assert [node.origin for node in again.graph.nodes] == origins
    assert None not in origins
