"""Twenty models that a symbolic trace cannot follow, each with a call, as people write
them: the value of a tensor is asked for, or something else than tensors goes in or out.
"""

# ruff: noqa: RET504  # what is assigned has a hint

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn


class BranchOnSum(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        if y.sum() > 0:
            z = y[:, :2]
            return z
        return y


class BranchOnShape(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 1:
            y = x.flatten(1)
            return y
        return x


class Item(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        scale = x.abs().max().item()
        y = x / scale if scale > 1 else x
        return y.t()


class Length(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = x[0]
        for number in range(1, len(x)):
            total = total + x[number]
        return total


class Iterating(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        parts: list[Tensor] = []
        for row in x:
            part = row.unsqueeze(0)
            parts.append(part)
        joined = torch.cat(parts)
        return joined


class IntOfTensor(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        longest = int(lengths.max())
        y = x[:, :longest]
        return y * 2


class While(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x
        while y.square().sum() > 1:
            y = y / 2
        return y


class DictOfBranches(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        pooled = x.mean(1)
        if pooled.max() > 100:
            pooled = pooled / 100
        logits = pooled[:, None]
        return {"pooled": pooled, "logits": logits}


@dataclass
class Output:
    hidden: Tensor
    count: int


class Dataclass(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        out = self.step(x)
        y = out.hidden + out.count
        return y

    def step(self, x: Tensor) -> Output:
        hidden = x.relu() if bool(x.any()) else x
        return Output(hidden, len(hidden))


class Keywords(nn.Module):
    def forward(self, x: Tensor, **more: Tensor) -> Tensor:
        for name in sorted(more):
            x = x + more[name]
        if x.sum() > 0:
            x = x[..., None]
        return x


class Numpy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        weights = torch.as_tensor(np.ones(tuple(x.shape), dtype=np.float32))
        y = x * weights
        return y


class Listed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        sizes = [number // 2 for number in x.shape]
        y = x.new_zeros(sizes)
        return y


class RangeOfShape(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        outputs = [x[:, step] * step for step in range(x.size(1))]
        stacked = torch.stack(outputs, 1)
        return stacked


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.size(0), 4)
        for step in range(x.size(1)):
            state = self.cell(x[:, step], state)
        return state


class TypeOfInput(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.is_floating_point():
            y = x.sum(0)
            return y
        return x


class FromDict(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        total = torch.zeros(2)
        for _, value in batch.items():
            total = total + value.sum(0)
        return total


class Format(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        name = f"{x.dim():d}d"
        y = x.unsqueeze(0) if name == "2d" else x
        return y


class Assert(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[-1] == 4, "four features"
        if not torch.isfinite(x).all():
            raise ValueError("not finite")
        y = x.reshape(-1)
        return y


class Contains(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.view(-1) if 3 in x.shape else x
        return y


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.seen: list[tuple[int, ...]] = []

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        self.seen.append(tuple(int(size) for size in y.shape))
        z = y.softmax(-1)
        return z


ENTRIES = {
    "BranchOnSum": "BranchOnSum()(torch.ones(2, 4))",
    "BranchOnShape": "BranchOnShape()(torch.ones(2, 3, 4))",
    "Item": "Item()(torch.ones(2, 4) * 3)",
    "Length": "Length()(torch.ones(3, 4))",
    "Iterating": "Iterating()(torch.ones(3, 4))",
    "IntOfTensor": "IntOfTensor()(torch.ones(2, 5), torch.tensor([1, 3]))",
    "While": "While()(torch.ones(2, 4) * 9)",
    "DictOfBranches": "DictOfBranches()(torch.ones(2, 4))",
    "Dataclass": "Dataclass()(torch.ones(2, 4))",
    "Keywords": "Keywords()(torch.ones(2, 4), a=torch.ones(4), b=torch.ones(2, 1))",
    "Numpy": "Numpy()(torch.ones(2, 4))",
    "Listed": "Listed()(torch.ones(4, 6))",
    "RangeOfShape": "RangeOfShape()(torch.ones(2, 3, 4))",
    "Recurrent": "Recurrent()(torch.ones(2, 5, 3))",
    "TypeOfInput": "TypeOfInput()(torch.ones(2, 4))",
    "FromDict": 'FromDict()({"a": torch.ones(3, 2), "b": torch.ones(5, 2)})',
    "Format": "Format()(torch.ones(2, 4))",
    "Assert": "Assert()(torch.ones(2, 4))",
    "Contains": "Contains()(torch.ones(2, 3))",
    "Cached": "Cached()(torch.ones(2, 4))",
}
