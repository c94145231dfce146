# The annotations of a signature stay; those of a name in the body go.
import torch

from fxls import engine as fx


def weighted(
    parts: list[torch.Tensor], weight: float = 0.5, *, label: str = "sum"
) -> tuple[torch.Tensor, float]:
    first: torch.Tensor = parts[0] * weight
    return first.neg_(), weight


print(fx.symbolic_trace(weighted).code)
