"""Functions that torch.compile compiles again and again, breaks, and makes kernels of."""

import torch


@torch.compile(backend="eager")
def scaled(x: torch.Tensor, times: float) -> torch.Tensor:
    return x * times


@torch.compile(backend="eager")
def halved(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("half")
    return y / 2


@torch.compile
def shown(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1)


if __name__ == "__main__":
    torch._dynamo.config.specialize_float = True
    ones = torch.ones(2, 4)
    for times in (1.0, 2.0, 3.0, 4.0):
        scaled(ones, times)
    halved(ones)
    shown(ones)
