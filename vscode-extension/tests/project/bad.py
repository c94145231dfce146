"""A model whose logarithm is no number."""

import torch
from torch import nn

import fxls
from fxls import engine as fx


class Bad(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(torch.log(x - 1))


# fxls: Bad()(torch.zeros(2))


if __name__ == "__main__":
    fxls.install()
    gm = fx.symbolic_trace(Bad())
    print("ran", gm(torch.zeros(2)))
