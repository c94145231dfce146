# Values of any kind, which are proxies while a program is traced.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
"""A value of one trace that is used in another is refused, with both places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fxls import engine
from fxls.engine.errors import KeptValueError

KEPT: list[Any] = []


class Net(nn.Module):
    """Keeps the value of its first trace in one of many ways, and uses it in another."""

    def __init__(
        self, keep: Callable[[Any, Any], None], use: Callable[[Any, Any], Any]
    ):
        super().__init__()
        self.b = nn.Parameter(torch.ones(2))
        self.act = nn.ReLU()
        self.cache: Any = {}
        self.first = True
        self.keep, self.use = keep, use

    def forward(self, x: Any) -> Any:
        if self.first:
            self.first = False
            self.keep(self, self.b * 2)
        return self.use(self, x)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines) if text in line)


def in_a_dict(net: Any, value: Any) -> None:
    net.cache["k"] = value


def in_a_list(net: Any, value: Any) -> None:
    net.cache = [[value]]


def in_an_attribute(net: Any, value: Any) -> None:
    net.cache = value


def in_a_global(_net: Any, value: Any) -> None:
    KEPT[:] = [value]


def kept(net: Any) -> Any:
    held: Any = KEPT if net.keep is in_a_global else net.cache
    while isinstance(held, list | dict):
        held = held["k"] if isinstance(held, dict) else held[0]
    return held


USES: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda net, x: x + kept(net),
    "method": lambda net, x: x.add(kept(net)),
    "keyword": lambda net, x: x.add(other=kept(net)),
    "in a list": lambda net, x: x.view([kept(net), 1]),
    "in a tuple": lambda net, x: x.view((kept(net), 1)),
    "leaf module": lambda net, x: net.act(kept(net)),
    "result": lambda net, x: kept(net),
    "part of the result": lambda net, x: {"x": x, "kept": [kept(net)]},
}


@pytest.mark.parametrize(
    ("keep", "where"),
    [
        (in_a_dict, ", kept in 'cache' of Net,"),
        (in_a_list, ", kept in 'cache' of Net,"),
        (in_an_attribute, ", kept in 'cache' of Net,"),
        (in_a_global, ","),
    ],
)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_second_trace_says_who_keeps_the_value_and_where_it_was_made(
    keep: Any, where: str, use: Any
) -> None:
    net = Net(keep, use)
    first = engine.symbolic_trace(net)
    first.graph.lint()
    text = first.code

    with pytest.raises(KeptValueError) as raised:
        engine.symbolic_trace(net)

    error = raised.value
    assert error.message == (
        f"mul is a value of an earlier trace{where} and cannot be used in this one"
    )
    assert error.made is not None
    assert error.made.places[0].span.start.line == line_of("self.b * 2)")
    assert str(error).endswith(error.advice)
    # The first graph is what it was.
    assert first.code == text
    first.graph.lint()


@pytest.mark.parametrize("own", ["create_arg", "create_node", "proxy"])
def test_so_does_a_tracer_that_overrides_a_step(own: str) -> None:
    class Own(engine.Tracer):
        pass

    base: Any = getattr(engine.Tracer, own)
    setattr(Own, own, lambda self, *args, **kwargs: base(self, *args, **kwargs))
    net = Net(in_an_attribute, USES["operator"])
    Own().trace(net)

    with pytest.raises(KeptValueError, match="mul is a value of an earlier trace"):
        Own().trace(net)


def test_values_that_one_appends_by_hand_stay_in_their_graph() -> None:
    one, other = engine.Graph(), engine.Graph()
    x: Any = engine.Proxy(one.placeholder("x"))
    y: Any = engine.Proxy(other.placeholder("y"))

    with pytest.raises(KeptValueError, match="y is a value of an earlier trace"):
        x.add(y)
