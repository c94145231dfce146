# pyright: basic
# ruff: noqa: N812 - as people write models
"""Parts of real models."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.engine.zoo.registry import example


class ConvNormAct(nn.Sequential):
    def __init__(self, channels, stride=1):
        super().__init__(
            nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
        )


@example((1, 4, 8, 8))
class Residual(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.first = ConvNormAct(channels)
        self.second = ConvNormAct(channels)
        self.downsample = nn.Identity()

    def forward(self, x):
        identity = self.downsample(x)
        out = self.second(self.first(x))
        out += identity
        return F.relu(out)


@example((1, 4, 8, 8))
class Classifier(nn.Module):
    def __init__(self, channels=4, classes=10):
        super().__init__()
        self.stages = nn.ModuleList(
            [ConvNormAct(channels, stride=2), Residual(channels)]
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(torch.flatten(self.pool(x), 1))


@example((2, 5, 8))
class Attention(nn.Module):
    """No step looks at those behind it."""

    def __init__(self, width=8, heads=2, longest=5):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        behind = torch.ones(longest, longest).triu(diagonal=1)
        self.register_buffer("behind", behind > 0)

    def forward(self, x):
        batch, steps, width = x.size()
        apart = (batch, steps, self.heads, width // self.heads)
        asks, answers, values = self.mix(x).split(8, dim=2)
        asks, answers, values = [
            part.view(apart).transpose(1, 2) for part in (asks, answers, values)
        ]
        likeness = asks @ answers.mT / math.sqrt(width // self.heads)
        likeness = likeness.masked_fill(self.behind, -math.inf)
        found = F.softmax(likeness, dim=-1) @ values
        return self.join(found.transpose(1, 2).contiguous().flatten(2))


@example((2, 5, 8))
class FusedAttention(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Widened(nn.Module):
    def __init__(self, width, by=4):
        super().__init__()
        self.widen = nn.Linear(width, by * width)
        self.narrow = nn.Linear(by * width, width)
        self.forget = nn.Dropout(p=0.2)

    def forward(self, x):
        inside = F.gelu(self.widen(x), approximate="tanh")
        return self.forget(self.narrow(inside))


@example((2, 5, 8))
class TransformerBlock(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.steps = nn.ModuleList([Attention(width), Widened(width)])
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x):
        for norm, step in zip(self.norms, self.steps, strict=True):
            x = x + step(norm(x))
        return x


@example(lambda: torch.randint(0, 20, (2, 5)))
class LanguageModel(nn.Module):
    """Its head reads the words with the weight that wrote them."""

    def __init__(self, words=20, width=8, depth=2):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(1, 5, width))
        self.blocks = nn.Sequential(*[TransformerBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        known = self.tokens(ids)
        known += self.places[:, : ids.size(1)]
        return self.head(self.blocks(known))


@example((2, 8), (2, 8), (2, 8))
class RecurrentCell(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.gates = nn.Linear(2 * width, 4 * width)

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat((x, h), dim=-1)).chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


@example((2, 5, 8))
class Recurrent(nn.Module):
    def __init__(self, width=8, hidden=4):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True)

    def forward(self, x):
        out, (h, _) = self.lstm(x)
        return out[:, -1] + h[0]


@example((1, 4, 8, 8))
class UNet(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.down = ConvNormAct(channels, stride=2)
        self.middle = ConvNormAct(channels)
        self.up = nn.ConvTranspose2d(channels, channels, 2, stride=2)
        self.merge = nn.Conv2d(2 * channels, 2, 1)

    def forward(self, x):
        y = self.up(self.middle(self.down(x)))
        return self.merge(torch.cat([x, y], 1)).sigmoid()


@example((2, 8))
class MixtureOfExperts(nn.Module):
    def __init__(self, width=8, experts=3):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outs = [e(x) * weights[:, i : i + 1] for i, e in enumerate(self.experts)]
        return sum(outs), weights


@example((2, 5, 8))
class StockTransformer(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, batch_first=True
        )

    def forward(self, x):
        return self.layer(x)
