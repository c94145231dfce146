# Private names are the subject.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false
"""Subclasses that make their code or their copies themselves do as with torch.fx."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

from fxls import engine

BOTH = pytest.mark.parametrize("fx", [torch.fx, engine], ids=["torch.fx", "engine"])
X = torch.ones(1, 2)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


@BOTH
def test_the_code_of_a_module_is_a_string(fx: Any) -> None:
    module = fx.symbolic_trace(Layer())

    assert module._code == module.code
    assert module._code.strip().splitlines()[-1] == "    return relu"


@BOTH
def test_a_recompile_of_ones_own_says_what_the_code_is(fx: Any) -> None:
    graph_module = importlib.import_module(f"{fx.__name__}.graph_module")

    class Own(fx.GraphModule):
        def recompile(self) -> Any:
            code: Any = self._graph.python_code("self")
            self._code = "# by hand\n" + code.src
            own: Any = type(self)
            own.forward = graph_module._forward_from_src(self._code, code.globals)
            return code

    layer = Layer()
    module: Any = Own(layer, fx.Tracer().trace(layer))

    assert module.code.startswith("# by hand\n")
    assert torch.equal(module(X), layer(X))
    assert torch.equal(copy.deepcopy(module)(X), layer(X))


@BOTH
def test_a_copy_over_the_attributes_has_the_code(fx: Any) -> None:
    class Own(fx.GraphModule):
        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            holder = nn.Module()
            holder.__dict__ = copy.deepcopy(self.__dict__)
            return Own(holder, copy.deepcopy(self.graph))

    class Updated(fx.GraphModule):
        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            new: Any = type(self).__new__(type(self))
            nn.Module.__init__(new)
            new.__dict__.update(copy.deepcopy(self.__dict__, memo))
            new.recompile()
            return new

    layer = Layer()
    graph = fx.Tracer().trace(layer)
    for kind in (Own, Updated):
        module: Any = kind(layer, graph)
        copied = copy.deepcopy(module)

        assert copied.code == module.code
        assert copied.linear is not module.linear
        assert copied.graph is not module.graph
        assert torch.equal(copied(X), layer(X))


@BOTH
def test_a_copy_is_called_without_the_hooks_of_the_original(fx: Any) -> None:
    module = fx.symbolic_trace(Layer())
    called: list[object] = []
    module.register_forward_pre_hook(lambda *_a: called.append("before"))
    module.register_forward_hook(lambda *_a, **_k: called.append("behind"))
    module.register_full_backward_hook(lambda *_a: called.append("back"))
    module.linear.register_forward_hook(lambda *_a: called.append("inside"))

    copy.deepcopy(module)(X.clone().requires_grad_()).sum().backward()
    assert called == ["inside"]

    module(X.clone().requires_grad_()).sum().backward()
    assert called[1:] == ["before", "inside", "behind", "back"]


@BOTH
def test_attributes_that_a_user_preserves_are_those_of_a_copy(fx: Any) -> None:
    module = fx.symbolic_trace(Layer())
    module.meta["_user_preserved_attributes"] = {"kept": 1}

    assert copy.deepcopy(module).kept == 1


@BOTH
def test_the_attributes_of_a_module_are_pickled_without_its_graph(fx: Any) -> None:
    module = fx.symbolic_trace(Layer())
    expected = module(X)
    held = {name: one for name, one in module.__dict__.items() if name != "_graph"}

    root = nn.Module()
    root.__dict__.update(pickle.loads(pickle.dumps(held)))
    again = fx.GraphModule(root, module.graph)

    assert torch.equal(again(X), expected)
    assert again.code == module.code


def test_pickled_attributes_have_the_code_that_they_had() -> None:
    module: Any = engine.symbolic_trace(Layer())

    code = pickle.loads(pickle.dumps(module.__dict__["_forward_code"]))

    assert code.src == module.code
    assert code._lineno_map == module._lineno_map
    assert code._prologue_start == module._prologue_start
