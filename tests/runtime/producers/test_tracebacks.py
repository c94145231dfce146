"""No traceback of a graph that runs under fxls shows a file of fxls."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.store import Store
from tests.runtime.producers.raising_nets import (
    Calling,
    Nested,
    NotTraceable,
    Raising,
)

fx: Any = torch.fx
OURS = Path(fxls.__file__).parent
X = torch.ones(2, 4)


def compiled(backend: Any) -> Callable[[nn.Module], Any]:
    return lambda net: cast("Any", torch).compile(net, backend=backend)


def exported(net: nn.Module) -> Any:
    return cast("Any", torch.export.export(net, (X,))).module()


def nested(net: nn.Module) -> Any:
    return fx.GraphModule({"inner": fx.symbolic_trace(net)}, calling_inner())


def calling_inner() -> Any:
    graph = fx.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    return graph


PRODUCERS: dict[str, Callable[[nn.Module], Any]] = {
    "engine": engine.symbolic_trace,
    "torch.fx": fx.symbolic_trace,
    "torch.fx nested": nested,
    "eager": compiled("eager"),
    "aot_eager": compiled("aot_eager"),
    "torch.export": exported,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "x", "said"),
    [
        (Raising, X, "refused"),
        (Nested, torch.ones(2, 5), "shape|size|equal to 4"),
        (Calling, -X, "negative"),
    ],
)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_an_error_in_a_graph(
    store: Store, producer: str, net: type[nn.Module], x: torch.Tensor, said: str
) -> None:
    with torch.no_grad():
        gm = PRODUCERS[producer](net())
        assert files_of_ours(lambda: gm(x), said) == []


@pytest.mark.slow
@pytest.mark.parametrize("producer", [one for one in PRODUCERS if one != "engine"])
def test_an_error_of_a_model_while_it_is_captured(store: Store, producer: str) -> None:
    capture_and_run = PRODUCERS[producer]
    assert files_of_ours(lambda: capture_and_run(NotTraceable())(X), "no graph") == []


@pytest.mark.slow
def test_an_error_of_a_backend_of_the_users(store: Store) -> None:
    def backend(_gm: Any, _inputs: Any) -> Any:
        raise ValueError("no backend")

    gm = compiled(backend)(nn.Linear(4, 4))
    assert files_of_ours(lambda: gm(X), "no backend") == []


def files_of_ours(call: Callable[[], Any], said: str) -> list[str]:
    """The files of fxls in the tracebacks of an error and of what it came from."""
    cast("Any", torch)._dynamo.reset()
    with pytest.raises(Exception, match=said) as raised:
        call()
    found: list[str] = []
    error: BaseException | None = raised.value
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        found += [f"{one.filename}: {one.name}" for one in frames]
        error = error.__cause__ or error.__context__
    return [one for one in found if Path(one).is_relative_to(OURS)]
