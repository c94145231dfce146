# Annotations of the signature stay.
import torch
from fxls import engine as fx


def func(x: torch.Tensor, y: int) -> torch.Tensor:
    z: torch.Tensor = x * y
    return z


traced = fx.symbolic_trace(func)
print(traced.code.strip())
