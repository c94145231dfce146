"""The programs that are traced: models in their usual shapes, and graphs at the limits.

Widths are small, so that no benchmark measures arithmetic: a graph is the same however
wide its tensors are.

Annotations are evaluated here: ``torch.fx`` cannot pickle a module that has one as text.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "GRAPHS",
    "MODELS",
    "Chain",
    "Gpt",
    "LongLists",
    "Nested",
    "Operators",
    "Parameters",
    "Patterned",
    "ResNet",
    "Submodules",
    "Unpackings",
    "Vit",
    "WideFanOut",
    "example",
]


class Chain(nn.Module):
    """``relu(linear(h))`` until there are `nodes` calls."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.count = nodes // 2

    def forward(self, h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        for _ in range(self.count):
            h = torch.relu(functional.linear(h, w, b))
        return h


class Operators(nn.Module):
    """Additions only, so that Python ints can run through the graph."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.count = nodes

    def forward(self, h: Any, w: Any, b: Any) -> Any:
        for _ in range(self.count):
            h = h + w
        return h - b


class Patterned(nn.Module):
    """A chain whose every fourth node begins what a pattern finds."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.count = nodes // 4

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = torch.tanh(torch.sigmoid(torch.relu(torch.neg(x))))
        return x


class Bottleneck(nn.Module):
    """A residual block of three convolutions."""

    def __init__(self, inside: int, outside: int, *, downsamples: bool) -> None:
        super().__init__()
        width = outside // 4
        stride = 2 if downsamples else 1
        self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outside, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if downsamples or inside != outside:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False),
                nn.BatchNorm2d(outside),
            )

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """ResNet-50: every call is that of a leaf module, or an addition."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = _stage(8, 16, 3, downsamples=False)
        self.layer2 = _stage(16, 16, 4, downsamples=True)
        self.layer3 = _stage(16, 16, 6, downsamples=True)
        self.layer4 = _stage(16, 16, 3, downsamples=True)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def _stage(inside: int, outside: int, blocks: int, *, downsamples: bool) -> nn.Module:
    first = Bottleneck(inside, outside, downsamples=downsamples)
    rest = [Bottleneck(outside, outside, downsamples=False) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)


class Conv1D(nn.Module):
    """A linear layer as GPT-2 writes it: its weights are read in forward."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.outside = outside
        self.weight = nn.Parameter(torch.randn(inside, outside))
        self.bias = nn.Parameter(torch.zeros(outside))

    def forward(self, x: Tensor) -> Tensor:
        shape = x.size()[:-1] + (self.outside,)  # noqa: RUF005 - the size is traced
        flat = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return flat.view(shape)


class Attention(nn.Module):
    """Attention written out, as in GPT-2."""

    mask: Tensor

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width = width
        self.heads = heads
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.triu(torch.ones(4, 4), 1).bool())

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.c_attn(x).split(self.width, dim=2)
        query, key, value = self._part(query), self._part(key), self._part(value)
        weights = torch.matmul(query, key.transpose(-1, -2)) / 2.0
        weights = weights.masked_fill(self.mask, -1e4)
        weights = self.drop(functional.softmax(weights, dim=-1))
        out = torch.matmul(weights, value).permute(0, 2, 1, 3).contiguous()
        return self.c_proj(out.view(x.size(0), x.size(1), self.width))

    def _part(self, x: Tensor) -> Tensor:
        split = (x.size(0), x.size(1), self.heads, self.width // self.heads)
        return x.view(split).permute(0, 2, 1, 3)


class GptBlock(nn.Module):
    """One layer of GPT-2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = Conv1D(width, 4 * width)
        self.c_proj = Conv1D(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        h = self.c_fc(self.ln_2(x))
        gelu = 0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.c_proj(gelu)


class Gpt(nn.Module):
    """GPT-2: functions, methods, leaf modules and parameters that forward reads."""

    def __init__(self, layers: int, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.wte = nn.Embedding(32, width)
        self.wpe = nn.Embedding(16, width)
        self.h = nn.ModuleList([GptBlock(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, 32, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


class VitBlock(nn.Module):
    """One layer of a vision transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        size, patches, width = x.size(0), x.size(1), x.size(2)
        qkv = self.qkv(h).reshape(size, patches, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attention = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(attention.transpose(1, 2).reshape(size, patches, width))
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class Vit(nn.Module):
    """A vision transformer of twelve layers."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.zeros(1, 17, width))
        self.blocks = nn.Sequential(*[VitBlock(width, 4) for _ in range(12)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], dim=1) + self.place
        return self.head(self.norm(self.blocks(x))[:, 0])


class WideFanOut(nn.Module):
    """One value with `nodes` users, all of them inputs of one call."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.count = nodes

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x + i for i in range(self.count)])


class Submodules(nn.Module):
    """`count` leaf modules, one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.ReLU() for _ in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Nested(nn.Module):
    """Modules inside modules, `depth` of them, each with a node of its own."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.inner: nn.Module = Nested(depth - 1) if depth else nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1


class LongLists(nn.Module):
    """Two calls that take lists of half of all nodes."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.count = nodes // 2

    def forward(self, x: Tensor) -> Tensor:
        first = torch.cat([torch.relu(x) for _ in range(self.count)])
        second = torch.cat([torch.neg(x) for _ in range(self.count)])
        return torch.add(first, second)


class Parameters(nn.Module):
    """`count` parameters, each read in forward."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        for i in range(count):
            self.register_parameter(f"p{i}", nn.Parameter(torch.zeros(1)))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(self.count):
            x = x + cast("Tensor", getattr(self, f"p{i}"))
        return x


def _unpacking(statements: int) -> Callable[[Tensor], Tensor]:
    """A function with many statements: that it is long is the point."""
    lines = "".join("    a, b = x.split(2)\n    x = a + b\n" for _ in range(statements))
    names: dict[str, Any] = {}
    exec(f"def forward(self, x):\n{lines}    return x\n", names)
    return names["forward"]


class Unpackings(nn.Module):
    """``a, b = ...`` 300 times in one function."""

    forward = _unpacking(300)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "ResNet-50": ResNet,
    "ViT, 12 layers": Vit,
    "GPT-2, 12 layers": lambda: Gpt(12),
    "GPT-2, 48 layers": lambda: Gpt(48),
}
"""The models that people have, by the name that they have in the tables."""

GRAPHS: dict[str, Callable[[], nn.Module]] = {
    **MODELS,
    "chain 1k": lambda: Chain(1_000),
    "chain 1k, tiny tensors": lambda: Chain(1_000),
    "chain 10k": lambda: Chain(10_000),
    "chain 100k": lambda: Chain(100_000),
    "1,000 parameters": lambda: Parameters(1_000),
    "300 unpackings": Unpackings,
    "modules 200 deep": lambda: Nested(200),
    "10,000 submodules": lambda: Submodules(10_000),
    "fan-out 10k": lambda: WideFanOut(10_000),
    "two lists of 5k": lambda: LongLists(10_000),
    "one node": nn.ReLU,
    "10k additions of ints": lambda: Operators(10_000),
}
"""Everything that is traced, by that name."""


def example(model: nn.Module) -> tuple[Any, ...]:
    """Inputs that a model runs on."""
    if isinstance(model, ResNet | Vit):
        return (torch.randn(1, 3, 32, 32),)
    if isinstance(model, Gpt):
        return (torch.zeros(1, 4, dtype=torch.long),)
    if isinstance(model, Chain):
        return (torch.randn(2, 4), torch.randn(4, 4), torch.randn(4))
    if isinstance(model, Operators):
        return (1, 2, 3)
    return (torch.randn(4),)
