"""Makes a graph without a word of fxls, and NaN with it."""

import torch
from torch import fx, nn


class Plain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(torch.log(x - 1))


if __name__ == "__main__":
    print("ran", fx.symbolic_trace(Plain())(torch.zeros(2)))
