"""What a graph is given is named as its node is, and by its path where it is state."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls.store import Store

_any: Any = cast("Any", torch)
compiled: Any = _any.compile


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.blocks(x) + mask, -1)


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    _any.compiler.reset()


@pytest.fixture
def net() -> Net:
    made: Any = Net()
    with torch.no_grad():
        made.blocks[0].scale[1] = torch.nan
        made.blocks[1].linear.weight[0, 0] = torch.nan
    return made


def found(said: str) -> list[tuple[str, str, str]]:
    """Of each report: the node, the text of its line, and what is said."""
    report = r"^fxls: \S+: node (\S+) of .*?: (.*)\n  File .*\n    (.*)$"
    return [(node, line, what) for node, what, line in re.findall(report, said, re.M)]


@pytest.mark.slow
def test_state_of_a_captured_graph_is_named_by_its_path(
    store: Store, capfd: pytest.CaptureFixture[str], net: Net
) -> None:
    step = compiled(net, backend="eager")
    for _ in range(2):  # it is said once, also when rules are set again
        fxls.break_on("nan")
        step(torch.ones(2, 4), torch.zeros(4))

    scale = "self_modules_blocks_modules_0_buffers_scale_"
    weight = "self_modules_blocks_modules_1_modules_linear_parameters_weight_"
    bad = "is bad already: 1 of"
    said = capfd.readouterr().err
    assert found(said) == [
        (
            *(f"l_{scale}", f"l_{scale} = L_{scale}"),
            f"the buffer blocks.0.scale {bad} 4 is NaN",
        ),
        (
            *(f"l_{weight}", f"l_{weight} = L_{weight}"),
            f"the parameter blocks.1.linear.weight {bad} 16 is NaN",
        ),
    ]
    assert re.findall(r"^  in .*$", said, re.M) == [
        "  in blocks.0, in call 1 of this forward",
        "  in blocks.1.linear, in call 1 of this forward",
    ]


def test_what_is_handed_over_in_one_list_is_named_one_by_one(
    store: Store, capfd: pytest.CaptureFixture[str], net: Net
) -> None:
    step = compiled(net, backend="aot_eager")
    fxls.break_on("nan")
    for _ in range(2):
        step(torch.ones(2, 4), torch.zeros(4))

    assert found(capfd.readouterr().err) == [
        ("primals_4", "primals_4 = next(args_iter)", "1 of 4 is NaN"),
        ("primals_5", "primals_5 = next(args_iter)", "1 of 16 is NaN"),
    ]


def test_an_input_that_is_taken_out_of_a_tree_may_be_a_mask(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    class OfTree(nn.Module):
        def forward(self, given: dict[str, torch.Tensor]) -> torch.Tensor:
            return torch.softmax(given["x"] + given["mask"], -1)

    x, mask = torch.ones(4), torch.tensor([0, 0, 0, -torch.inf])
    tree = {"given": {"x": _any.fx.PH, "mask": _any.fx.PH}}
    traced = _any.fx.symbolic_trace(OfTree(), concrete_args=tree)
    captured = compiled(OfTree(), backend="eager")
    fxls.break_on("nan", "inf")
    for step in (traced, captured):
        step({"x": x, "mask": mask})
        step({"x": x, "mask": torch.tensor([0, 0, 0, torch.inf])})

    given = [(node, what) for node, _, what in found(capfd.readouterr().err)]
    one, all_ = "1 of 4 is infinite", ("softmax", "4 of 4 are NaN")
    assert given == [("given_2", one), all_, ("l_given_mask_", one), all_]
