# pyright: basic
# ruff: noqa: RET504 - as people write models
"""How expressions are written."""

import torch
from torch import nn

from tests.engine.zoo.registry import example


@example((2, 3), (2, 3))
class Arithmetic(nn.Module):
    def forward(self, x, y):
        return (x + y) * (x - y) / (y * y + 1) // 2 % 3 ** (x * 0)


@example((2, 3))
class Reflected(nn.Module):
    def forward(self, x):
        return 1 + (2 - (3 * (4 / (x.abs() + 1)))) + (5 // (x.abs() + 1)) ** 2 + 2**x


@example((2, 3))
class Unary(nn.Module):
    def forward(self, x):
        return -x, +x, abs(x), ~(x > 0)


@example((2, 3), (2, 3))
class Comparisons(nn.Module):
    def forward(self, x, y):
        return x < y, x <= y, x == y, x != y, x > y, x >= 1


@example(lambda: torch.arange(6), lambda: torch.arange(6) % 3)
class Bits(nn.Module):
    def forward(self, x, y):
        return (x & y) | (x ^ 3), x << y, x >> 1


@example((2, 3), (3, 2))
class MatrixProduct(nn.Module):
    def forward(self, x, y):
        return x @ y @ x


@example((2, 3), (2, 3))
class InPlace(nn.Module):
    def forward(self, x, y):
        x = x.clone()
        x += y
        x -= 1
        x *= 2
        x /= y.abs() + 1
        x **= 2
        return x


@example(lambda: torch.arange(6))
class InPlaceBits(nn.Module):
    def forward(self, x):
        x = x.clone()
        x &= 6
        x |= 1
        x ^= 2
        x <<= 2
        x >>= 1
        x //= 2
        x %= 5
        return x


@example((2, 3))
class InPlaceMethods(nn.Module):
    def forward(self, x):
        x = x.clone().add_(1).mul_(2)
        x.relu_()
        return x


@example((4, 5, 6))
class Indexing(nn.Module):
    def forward(self, x):
        return x[0], x[-1, 2], x[:, None], x[..., 0], x[1:3, ::2, -2:], x[:, [0, 2]]


@example((4, 5))
class IndexingByValues(nn.Module):
    def forward(self, x):
        n = x.size(0) // 2
        return x[:n], x[n:, 1:], x[x > 0], x[x.argmax() % 4]


@example((4, 5))
class SetItem(nn.Module):
    def forward(self, x):
        x = x.clone()
        x.__setitem__(2, 0)
        x.__setitem__((slice(1, None), slice(None, None, 2)), x[1:, ::2] * 2)
        return x


@example((2, 3, 4))
class GetattrChain(nn.Module):
    def forward(self, x):
        return x.mT.shape[0], x.mT.real.dtype, x.data.grad, x.device


@example((2, 3, 4))
class MethodChain(nn.Module):
    def forward(self, x):
        return (
            x.transpose(0, 1)
            .reshape(3, -1)
            .softmax(
                dim=-1,
            )
            .sum(0)
        )


@example((2, 3), (2, 3))
class ManyLines(nn.Module):
    def forward(self, x, y):
        result = (
            x  # the first
            + y
            - torch.cat(
                [
                    x[:1],
                    y[1:],
                ],
                dim=0,
            )
        )
        return result  # the last


@example((2, 3), (2, 3))
class ManyOnOneLine(nn.Module):
    def forward(self, x, y):
        return torch.relu(x + y) + torch.relu(x + y), torch.relu(x + y)


@example((2, 3))
class Comprehensions(nn.Module):
    def forward(self, x):
        parts = [x * i for i in range(3) if i != 1]
        table = {str(i): part.sum() for i, part in enumerate(parts)}
        return torch.stack(parts), table, tuple(p + 1 for p in parts)


@example((2, 3))
class Lambdas(nn.Module):
    def forward(self, x):
        double = lambda value: value * 2  # noqa: E731
        return (lambda value, f: f(f(value)))(x, double)


@example((2, 3))
class StaticControlFlow(nn.Module):
    def __init__(self, deep=True):
        super().__init__()
        self.deep = deep

    def forward(self, x):
        if self.deep:
            for i in range(2):
                x = x + i
        while not self.deep:
            x = x * 0
        return x if self.deep else -x


@example((2, 3))
class Walrus(nn.Module):
    def forward(self, x):
        return (y := x + 1) * y + (z := y.sum()) - z


@example((2, 3), (2, 3))
class NamesThatClash(nn.Module):
    def forward(self, add, add_1):
        relu = torch.relu(add + add_1)
        return relu + torch.relu(add) + torch.add(relu, add_1)


@example((2, 3))
class CamelCase(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.LinearLayer = nn.Linear(width, width)
        self.HTTPHead = nn.ReLU()

    def forward(self, x):
        return self.HTTPHead(self.LinearLayer(x)).is_floating_point()
