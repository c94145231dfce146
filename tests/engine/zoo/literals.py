# pyright: basic
# ruff: noqa: N812, RUF001 - as people write models
"""Everything that can stand in an argument without being a value of the graph."""

import enum
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.engine.zoo.registry import example


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Padding(str, enum.Enum):  # noqa: UP042 - as people write models
    SAME = "same"


def take(x, *values, **named):
    return x


torch.fx.wrap("take")
import fxls.engine  # noqa: E402

fxls.engine.wrap("take")


@example((2, 3))
class Numbers(nn.Module):
    def forward(self, x):
        x = x + 1 - 2.5 * 1e-30 + 10**9
        return take(x, -0.0, True, 2 - 3.5j)  # test_complex_numbers has others


@example((2, 3))
class NotFinite(nn.Module):
    def forward(self, x):
        x = x.clamp(-math.inf, math.inf)
        return torch.nan_to_num(x, nan=float("inf")), take(x, math.nan)


@example((2, 3))
class NamedLikeConstants(nn.Module):
    def forward(self, inf, nan=0.0, device=None):
        torch = inf + nan
        return torch * 2


@example((2, 3))
class Texts(nn.Module):
    def forward(self, x):
        return take(
            x, "plain", "it's", 'say "hi"', "both ' and \"", "two\nlines\t\\", ""
        )


@example((2, 3))
class Singletons(nn.Module):
    def forward(self, x):
        return take(x, ..., None, True, False)


@example((2, 3))
class ForeignLetters(nn.Module):
    def forward(self, größe):
        λ = größe + 1
        return take(λ, "日本語 – ✓", "\N{GRINNING FACE}", naïve="é") + λ


@example((2, 3))
class Types(nn.Module):
    def forward(self, x):
        x = x.to(torch.float64).to(torch.device("cpu")).to(dtype=torch.float32)
        return x.new_zeros(2, dtype=torch.int64, device="cpu", layout=torch.strided)


@example((2, 3, 4, 4))
class Layouts(nn.Module):
    def forward(self, x):
        return x.contiguous(memory_format=torch.channels_last)


@example((2, 3))
class Collections(nn.Module):
    def forward(self, x):
        return take(x, (1,), (), [], {}, [1, (2, [x])], {"a": x, "b c": [x], 3: None})


@example((2, 3))
class Slices(nn.Module):
    def forward(self, x):
        return take(x, slice(1, None), slice(None, x.shape[0], 2), {"s": slice(None)})


@example((2, 3))
class Enums(nn.Module):
    def forward(self, x):
        return take(x, Mode.FAST, [Mode.SLOW], Padding.SAME, mode=Padding.SAME)


@example((2, 3))
class Sizes(nn.Module):
    def forward(self, x):
        return F.interpolate(x[None], size=torch.Size([6])), x.new_ones(
            torch.Size([2, 3])
        )


@example((2, 3))
class Functions(nn.Module):
    def forward(self, x):
        return take(x, torch.ops.aten.add.Tensor, key=torch.ops.aten.relu.default)
