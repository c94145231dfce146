"""A GPT-style decoder, with attention written out in tensor operations."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Config:
    """The sizes of a decoder."""

    vocabulary: int = 256
    context: int = 128
    layers: int = 4
    heads: int = 4
    width: int = 128


class CausalSelfAttention(nn.Module):
    """Every position looks at the positions before it, once per head."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.head_width = config.width // config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        future = torch.ones(config.context, config.context, dtype=torch.bool).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.size(0), x.size(1), x.size(2)
        q, k, v = self.qkv(x).split(self.heads * self.head_width, dim=2)
        q = self.split_heads(q, batch, length)
        k = self.split_heads(k, batch, length)
        v = self.split_heads(v, batch, length)

        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_width)
        # A slice needs a number while tracing, `narrow` takes the traced length.
        future = self.future.narrow(0, 0, length).narrow(1, 0, length)
        weights = F.softmax(scores.masked_fill(future, float("-inf")), dim=-1)

        joined = (weights @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return self.out(joined)

    def split_heads(self, x: torch.Tensor, batch: int, length: int) -> torch.Tensor:
        return x.view(batch, length, self.heads, self.head_width).transpose(1, 2)


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = CausalSelfAttention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Token and position embeddings, a stack of blocks, logits for the next token."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Parameter(torch.randn(config.context, config.width) * 0.02)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions[: tokens.size(1)]
        for block in self.blocks:
            x = block(x)
        # The output layer shares its weight with the token embedding.
        return F.linear(self.norm(x), self.tokens.weight)


# fxls: GPT(Config(layers=2))(torch.randint(0, 256, (1, 16)))
