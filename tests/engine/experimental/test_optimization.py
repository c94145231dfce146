"""A module becomes faster for inference and computes the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls import engine as fx
from fxls.engine.experimental import optimization

with warnings.catch_warnings():
    # It imports what torch itself deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch.fx.experimental import optimization as torch_optimization

_torch: Any = torch
_F: Any = nn.functional


def eval_mode(model: nn.Module) -> nn.Module:
    """In evaluation mode, and with statistics that change something."""
    _torch.manual_seed(0)
    for module in model.modules():
        for name in ("running_mean", "running_var"):
            if getattr(module, name, None) is not None:
                getattr(module, name).uniform_(0.5, 1.5)
    return model.eval()


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout()
        self.rest = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.linear = nn.Linear(4, 5)
        self.last = nn.BatchNorm1d(5)

    def forward(self, x: Any) -> Any:
        y = self.drop(_F.relu(self.norm(self.conv(x))))
        z = self.rest(y) * 2
        flat = _F.adaptive_avg_pool2d(z, 1).flatten(1)
        return self.last(self.linear(flat)).tanh()


class OneDimension(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4))
        self.deep = nn.Sequential(nn.Conv3d(1, 2, 1), nn.BatchNorm3d(2))

    def forward(self, x: Any) -> Any:
        y = self.layers(x.reshape(2, 3, -1))
        return self.deep(y.reshape(2, 1, 4, -1, 1))


STEPS: list[str] = ["fuse", "remove_dropout", "optimize_for_inference"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", [Convolutions, OneDimension])
def test_modules_become_those_of_torch_fx(step: str, kind: type[nn.Module]) -> None:
    model = eval_mode(kind())
    ours: Any = getattr(optimization, step)(model)
    theirs: Any = getattr(torch_optimization, step)(model)
    x = torch.randn(2, 3, 8, 8)

    assert str(ours.graph) == str(theirs.graph)
    assert [type(m).__name__ for m in ours.modules()] == [
        type(m).__name__ for m in theirs.modules()
    ]
    torch.testing.assert_close(ours(x), model(x))


def test_the_model_itself_stays_unless_it_is_to_change() -> None:
    model: Any = eval_mode(Convolutions())
    conv = model.conv
    weight = conv.weight.clone()

    optimization.fuse(model)
    assert torch.equal(model.conv.weight, weight)
    fused: Any = optimization.fuse(model, inplace=True)
    assert not torch.equal(fused.conv.weight, weight)


def test_a_layer_that_is_called_twice_is_not_fused() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)
            self.norm = nn.BatchNorm2d(3)

        def forward(self, x: Any) -> Any:
            return self.norm(self.conv(x)) + self.conv(x + 1)

    model = eval_mode(Shared())
    x = torch.randn(1, 3, 4, 4)

    torch.testing.assert_close(optimization.fuse(model)(x), model(x))


def test_a_layer_whose_weight_is_read_is_not_fused() -> None:
    class Read(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)
            self.norm = nn.BatchNorm2d(3)

        def forward(self, x: Any) -> Any:
            return self.norm(self.conv(x)) + self.conv.weight.sum()

    model = eval_mode(Read())
    x = torch.randn(1, 3, 4, 4)

    torch.testing.assert_close(optimization.fuse(model)(x), model(x))


def test_a_fused_node_has_the_origins_of_both() -> None:
    fused: Any = optimization.fuse(eval_mode(Convolutions()))
    conv = next(n for n in fused.graph.nodes if n.name == "conv")
    line = Convolutions.forward.__code__.co_firstlineno
    columns = [origin.places[0].span for origin in conv.origins]

    assert [span.start.line for span in columns] == [line, line]
    assert len(set(columns)) == 2


def test_fusing_is_for_evaluation_mode() -> None:
    with pytest.raises(AssertionError, match="eval"):
        optimization.fuse(Convolutions())


def test_the_layout_is_kept_where_the_heuristic_wants_it() -> None:
    model = eval_mode(Convolutions())
    x = torch.randn(2, 3, 8, 8)

    def never(_graph: optimization.MklSubgraph) -> bool:
        return False

    def converted(heuristic: Callable[[optimization.MklSubgraph], bool]) -> Any:
        settings = {"mkldnn_layout_optimize": {"heuristic": heuristic}}
        return optimization.optimize_for_inference(model, settings)

    kept = converted(optimization.use_mkl_length)
    assert "to_mkldnn" in kept.code
    dropped = converted(never)
    assert "to_mkldnn" not in dropped.code
    assert type(dropped.conv) is nn.Conv2d
    measured = converted(optimization.gen_mkl_autotuner([x], iters=1))
    for module in (kept, dropped, measured):
        torch.testing.assert_close(module(x), model(x))


def test_a_number_is_added_in_the_old_layout() -> None:
    class Adding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.ReLU())

        def forward(self, x: Any) -> Any:
            y = self.layers(x)
            return (y + 1) + y + 2 * y

    model = eval_mode(Adding())
    x = torch.randn(1, 3, 4, 4)
    result: Any = optimization.optimize_for_inference(model)

    assert "to_mkldnn" in result.code
    torch.testing.assert_close(result(x), model(x))


def test_a_module_of_two_subgraphs_has_one_layout() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)

        def forward(self, x: Any) -> Any:
            y = torch.relu(torch.relu(torch.relu(self.conv(x))))
            return self.conv(y.tanh())

    model = eval_mode(Twice())
    x = torch.randn(1, 3, 4, 4)
    result: Any = optimization.optimize_for_inference(model)

    torch.testing.assert_close(result(x), model(x))


def test_settings_are_checked() -> None:
    model = eval_mode(Convolutions())

    def optimize(layout: object) -> nn.Module:
        settings = {"mkldnn_layout_optimize": layout}
        return optimization.optimize_for_inference(model, settings)

    with pytest.raises(RuntimeError, match="config is not a dict"):
        optimize(3)
    with pytest.raises(RuntimeError, match="Heuristic not found"):
        optimize({})
    assert "to_mkldnn" not in cast("Any", optimize(False)).code


def test_pairs_of_modules_are_found_and_replaced() -> None:
    module: Any = fx.symbolic_trace(eval_mode(Convolutions()))
    modules = dict(module.named_modules())
    found = [
        node.name
        for node in module.graph.nodes
        if optimization.matches_module_pattern(
            (nn.Conv2d, nn.BatchNorm2d), node, modules
        )
    ]
    assert found == ["norm", "rest_1"]

    new = nn.Conv2d(3, 4, 3)
    conv = next(n for n in module.graph.nodes if n.name == "conv")
    optimization.replace_node_module(conv, modules, new)
    assert module.conv is new is modules["conv"]


def test_modules_change_layout_and_back() -> None:
    module: Any = fx.symbolic_trace(eval_mode(Convolutions()))
    modules: dict[str, nn.Module] = dict(module.named_modules())
    nodes = list(module.graph.nodes)
    before: dict[str, type[Any]] = {path: type(one) for path, one in modules.items()}

    old = optimization.modules_to_mkldnn(nodes, modules)
    changed = [path for path in modules if type(modules[path]) is not before[path]]
    assert changed == ["conv", "norm", "rest.0", "rest.1", "linear"]
    optimization.reset_modules(nodes, modules, old)
    assert {path: type(one) for path, one in modules.items()} == before
    assert type(module.get_submodule("rest.0")) is nn.Conv2d


def test_sets_are_joined() -> None:
    sets = optimization.UnionFind(5)
    for number in range(4):
        sets.make_set(number)
    sets.join(0, 1)
    sets.join(2, 3)
    sets.join(3, 1)

    assert len({sets.find(number) for number in range(4)}) == 1
    with pytest.raises(AssertionError, match="4 was not put into a set"):
        sets.find(4)


def test_a_subgraph_becomes_a_module() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).neg().abs()

    module = fx.symbolic_trace(program)
    _, relu, neg, absolute, _ = module.graph.nodes
    part = optimization.extract_subgraph(module, [neg, absolute], [relu], [absolute])

    assert [one.item() for one in part(torch.tensor(-2.0))] == [2]
