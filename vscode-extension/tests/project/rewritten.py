"""A model, and what a pass makes of it."""

import torch
from torch import nn

import fxls
from fxls import engine as fx


class Rewritten(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + x


if __name__ == "__main__":
    fxls.install()
    gm = fx.symbolic_trace(Rewritten(4))
    gm(torch.ones(2, 4))
    (relu,) = gm.graph.find_nodes(op="call_function", target=torch.relu)
    with gm.graph.inserting_before(relu):
        tanh = gm.graph.call_function(torch.tanh, relu.args)
    relu.replace_all_uses_with(tanh)
    gm.graph.erase_node(relu)
    gm.recompile()
    gm(torch.ones(2, 4))
