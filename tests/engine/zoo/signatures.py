# pyright: basic
"""What goes into a forward, and what comes out of it."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import torch
from torch import nn

from tests.engine.zoo.registry import example


@example((2, 3))
class Defaults(nn.Module):
    def forward(self, x, scale=2.0, flag=True, nothing=None, name="mean"):
        return x * scale


@example((2, 3), (2, 3))
class KeywordOnly(nn.Module):
    def forward(self, x, y, *, alpha=1):
        return torch.add(x, y, alpha=alpha)


@example((2, 3), (2, 3), (2, 3))
class StarArgs(nn.Module):
    def forward(self, x, *rest):
        return x + rest[0] - rest[1]


@example((2, 3))
class StarKeywords(nn.Module):
    def forward(self, x, **options):
        return x + 1


@example((2, 3), (3, 4))
class KeywordCall(nn.Module):
    def forward(self, x, w):
        return torch.addmm(input=torch.zeros(4), mat1=x, mat2=w, beta=0.5, alpha=2)


@example((2, 3))
class ReturnsTuple(nn.Module):
    def forward(self, x):
        return x + 1, x.sum(), (x, [x * 2])


@example((2, 3))
class ReturnsOneTuple(nn.Module):
    def forward(self, x):
        return (x.relu(),)


@example((2, 3))
class ReturnsList(nn.Module):
    def forward(self, x):
        return [x, x + 1]


@example((2, 3))
class ReturnsDict(nn.Module):
    def forward(self, x):
        return {"out": x + 1, "aux": {"mean": x.mean(), "n": 3}, 7: x}


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@example((2, 3))
class ReturnsNamedTuple(nn.Module):
    def forward(self, x):
        return Pair(x + 1, x - 1)


@example((2, 3))
class ReturnsConstant(nn.Module):
    def forward(self, x):
        return 42, "text", None, True


@example((2, 3), lambda: 3)
class Annotated(nn.Module):
    def forward(self, x: torch.Tensor, n: int = 3) -> torch.Tensor:
        return x * n


@example((2, 3), lambda: [torch.ones(3)], lambda: {"k": torch.ones(3)})
class AnnotatedDeeply(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        items: List[torch.Tensor],  # noqa: UP006
        table: Dict[str, torch.Tensor],  # noqa: UP006
        maybe: Optional[torch.Tensor] = None,  # noqa: UP045
    ) -> Tuple[torch.Tensor, torch.Tensor]:  # noqa: UP006
        return x + items[0], x + table["k"]


@example((2, 3), lambda: [torch.ones(3)])
class AnnotatedByBuiltins(nn.Module):
    def forward(
        self, x: torch.Tensor, items: list[torch.Tensor]
    ) -> tuple[torch.Tensor, int]:
        return x + items[0], 1


@example((2, 3), lambda: torch.device("cpu"))
class AnnotatedByDevice(nn.Module):
    def forward(self, x, place: torch.device = torch.device("cpu")) -> torch.Tensor:  # noqa: B008
        return x.to(torch.device(place))


@example((2, 6))
class Unpacks(nn.Module):
    def forward(self, x):
        left, middle, right = x.chunk(3, dim=-1)
        (values, indices), size = torch.max(left, dim=0), middle.shape
        return values + right.sum(), indices, size[0]


@example((2, 3), (2, 3))
class PassesThrough(nn.Module):
    def forward(self, x, y):
        return y, x, y


@example((2, 3))
class BuiltinNames(nn.Module):
    def forward(self, input, type=None):  # noqa: A002
        sum = input + 1  # noqa: A001
        return sum.abs().max()
