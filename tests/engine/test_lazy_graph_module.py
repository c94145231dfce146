# Private names are the subject.
# pyright: reportPrivateUsage=false
"""Programs that ask for lazy graph modules get them, as from torch.fx."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import pytest
import torch
import torch.fx

from fxls import engine
from fxls.engine import _lazy_graph_module


@pytest.fixture(params=[torch.fx, engine], ids=["torch.fx", "engine"])
def fx(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def lazy(fx: Any) -> Any:
    return importlib.import_module(f"{fx.__name__}._lazy_graph_module")


def sine(x: Any) -> Any:
    return x.sin()


def test_inside_the_block_a_trace_makes_a_lazy_module(fx: Any, lazy: Any) -> None:
    kinds: list[bool] = []
    with lazy._use_lazy_graph_module(True):
        kinds.append(isinstance(fx.symbolic_trace(sine), lazy._LazyGraphModule))
        with lazy._force_skip_lazy_graph_module():
            kinds.append(isinstance(fx.symbolic_trace(sine), lazy._LazyGraphModule))
            with lazy._use_lazy_graph_module(True):
                kinds.append(lazy._get_graph_module_cls() is fx.GraphModule)
        kinds.append(lazy._get_graph_module_cls() is lazy._LazyGraphModule)
    kinds.append(isinstance(fx.symbolic_trace(sine), lazy._LazyGraphModule))

    assert kinds == [True, True, True, True, False]


def test_a_module_tells_whether_its_forward_is_made(fx: Any, lazy: Any) -> None:
    module = lazy._LazyGraphModule.from_graphmodule(fx.symbolic_trace(sine))
    same = lazy._LazyGraphModule.from_graphmodule(module)
    x = torch.ones(2)
    told = [module._needs_recompile()]
    module(x)
    told.append(module._needs_recompile())
    next(n for n in module.graph.nodes if n.target == "sin").target = "cos"
    told.append(module._needs_recompile())
    module.recompile()
    told.append(module._needs_recompile())
    assert "cos" in module.code
    told.append(module._needs_recompile())
    module.recompile()
    lazy._LazyGraphModule.force_recompile(module)
    told.append(module._needs_recompile())

    assert same is module
    assert told == [True, False, False, True, False, False]
    assert torch.equal(module(x), x.cos())


def test_a_class_that_is_asked_for_is_taken(fx: Any, lazy: Any) -> None:
    traced = fx.symbolic_trace(sine)
    with lazy._use_lazy_graph_module(True):
        plain = lazy._make_graph_module(
            traced, traced.graph, class_name="Named", graph_module_cls=fx.GraphModule
        )
        kept = lazy._make_graph_module(traced, traced.graph)

    assert (type(plain).__name__, type(kept).__name__) == ("Named", "GraphModule")
    assert not isinstance(plain, lazy._LazyGraphModule)
    assert isinstance(kept, lazy._LazyGraphModule)


def test_a_pickled_lazy_module_is_one_again() -> None:
    module = _lazy_graph_module._LazyGraphModule(
        torch.nn.Module(), engine.symbolic_trace(sine).graph
    )

    again = pickle.loads(pickle.dumps(module))

    assert isinstance(again, _lazy_graph_module._LazyGraphModule)
    assert torch.equal(again(torch.ones(2)), torch.ones(2).sin())
