"""Submodules that are called whole, because somebody said so."""

from __future__ import annotations

import pytest
import torch

from fxls import engine as fx


class Gate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = torch.nn.ModuleList([Gate(), Gate()])
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for gate in self.gates:
            x = gate(self.norm(x))
        return x + 1


@pytest.mark.parametrize(
    "leaves", [(Gate,), ("Gate",), ("gates.0", "gates.1"), (torch.nn.Module,)]
)
def test_what_is_named_is_one_node(
    leaves: tuple[str | type[torch.nn.Module], ...],
) -> None:
    made = fx.trace_around(Net(), *leaves)

    assert [(node.op, str(node.target)) for node in made.graph.nodes][1:-2] == [
        ("call_module", "norm"),
        ("call_module", "gates.0"),
        ("call_module", "norm"),
        ("call_module", "gates.1"),
    ]
    assert type(made).__name__ == "Net"
    x = -torch.ones(2, 3)
    assert torch.equal(made(x), Net()(x))


def test_a_leaf_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"^Net has no submodule Gates$"):
        fx.trace_around(Net(), Gate, "Gates")
    with pytest.raises(ValueError, match=r"^Net has no submodule Conv2d$"):
        fx.trace_around(Net(), torch.nn.Conv2d)


def test_the_root_is_traced_though_it_is_of_the_class_of_a_leaf() -> None:
    made = fx.trace_around(Net(), torch.nn.Module)

    assert len(made.graph.nodes) == 7
