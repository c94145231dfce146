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
    def __init__(self):
        super().__init__()
        self.first = ConvNormAct(4)
        self.second = ConvNormAct(4)
        self.downsample = nn.Identity()

    def forward(self, x):
        identity = self.downsample(x)
        out = self.second(self.first(x))
        out += identity
        return F.relu(out)


@example((1, 4, 8, 8))
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([ConvNormAct(4, stride=2), Residual()])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(torch.flatten(self.pool(x), 1))


@example((2, 5, 8))
class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, 5, 5)))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(8, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        weights = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        weights = weights.masked_fill(self.mask == 0, float("-inf"))
        weights = F.softmax(weights, dim=-1)
        return self.out((weights @ v).transpose(1, 2).contiguous().view(b, t, c))


@example((2, 5, 8))
class FusedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.down(F.gelu(self.up(x))))


@example((2, 5, 8))
class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(8)
        self.attn = Attention()
        self.ln_2 = nn.LayerNorm(8)
        self.mlp = Mlp(8)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


@example(lambda: torch.randint(0, 20, (2, 5)))
class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.positions = nn.Parameter(torch.zeros(1, 5, 8))
        self.blocks = nn.Sequential(*[TransformerBlock() for _ in range(2)])
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions[:, : ids.size(1)]
        return self.head(self.blocks(x))


@example((2, 8), (2, 8), (2, 8))
class RecurrentCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(16, 32)

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat((x, h), dim=-1)).chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


@example((2, 5, 8))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 4, batch_first=True)

    def forward(self, x):
        out, (h, _) = self.lstm(x)
        return out[:, -1] + h[0]


@example((1, 4, 8, 8))
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = ConvNormAct(4, stride=2)
        self.middle = ConvNormAct(4)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.merge = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        y = self.up(self.middle(self.down(x)))
        return self.merge(torch.cat([x, y], 1)).sigmoid()


@example((2, 8))
class MixtureOfExperts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outs = [e(x) * weights[:, i : i + 1] for i, e in enumerate(self.experts)]
        return sum(outs), weights


@example((2, 5, 8))
class StockTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x)
