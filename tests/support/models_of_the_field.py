"""Twelve models with the shapes of the field, each with inputs, written as people do."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  as people write it
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q = q.view(batch, length, self.heads, -1).transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.drop(F.softmax(scores, dim=-1))
        mixed = weights @ v
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        h = self.grow(self.norm2(x))
        h = F.gelu(h)
        h = self.drop(self.shrink(h))
        return x + h


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.places = nn.Embedding(12, 16)
        self.blocks = nn.ModuleList([Block(16, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 50, bias=False)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1])
        x = self.tokens(ids) + self.places(places)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = self.head(x)
        flat = logits.view(-1, 50)
        return F.cross_entropy(flat, targets.view(-1))


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride) if stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        kept = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = F.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.short is not None:
            kept = self.short(x)
        out += kept
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layers = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.fc = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.stem(x)))
        x = self.layers(x)
        x = F.adaptive_avg_pool2d(x, 1)
        x = torch.flatten(x, 1)
        x = F.dropout(x, 0.2, self.training)
        return self.fc(x)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(1, 4, 3, padding=1)
        self.down2 = nn.Conv2d(4, 8, 3, padding=1)
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = nn.Conv2d(8, 1, 1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Tensor) -> Tensor:
        one = F.relu(self.down1(x))
        two = F.relu(self.norm(self.down2(F.max_pool2d(one, 2))))
        deep = self.middle(two)
        up = self.up(deep)
        both = torch.cat([up, one], dim=1)
        return torch.sigmoid(self.last(both))


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(20, 12), nn.ReLU())
        self.mean = nn.Linear(12, 3)
        self.spread = nn.Linear(12, 3)
        self.decode = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 20))

    def forward(self, x: Tensor) -> Tensor:
        h = self.encode(x)
        mean = self.mean(h)
        spread = self.spread(h)
        noise = torch.randn_like(spread)
        z = mean + noise * torch.exp(0.5 * spread)
        made = self.decode(z)
        error = F.mse_loss(made, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
        return error + divergence


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Linear(5 + 6, 4 * 6)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        gates = self.gates(torch.cat([x, h], 1))
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell()
        self.out = nn.Linear(6, 2)

    def forward(self, xs: Tensor) -> Tensor:
        h = xs.new_zeros(xs.shape[0], 6)
        c = torch.zeros_like(h)
        outs: list[Tensor] = []
        for step in range(xs.shape[1]):
            h, c = self.cell(xs[:, step], h, c)
            outs.append(self.out(h))
        return torch.stack(outs, dim=1)


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(scale + 1e-6)
        return self.weight * x


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = RmsNorm(8)
        self.gate = nn.Linear(8, 24, bias=False)
        self.up = nn.Linear(8, 24, bias=False)
        self.down = nn.Linear(24, 8, bias=False)
        self.q = nn.Linear(8, 8, bias=False)
        self.angles = nn.Buffer(torch.arange(4) / 4.0)

    def rotated(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=-1)
        turned = torch.cat((-right, left), dim=-1)
        angles = self.angles.repeat(2)
        return x * angles.cos() + turned * angles.sin()

    def forward(self, x: Tensor) -> Tensor:
        q = self.rotated(self.q(self.norm(x)))
        mixed = F.scaled_dot_product_attention(q, x, x, is_causal=True)
        x = x + mixed
        h = F.silu(self.gate(x)) * self.up(x)
        return x + self.down(h)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(6, 3)
        self.experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        scores = self.router(x).softmax(-1)
        total = torch.zeros_like(x)
        for n, expert in enumerate(self.experts):
            weight = scores[:, n : n + 1]
            total = total + weight * expert(x)
        return total


class Graph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(4, 7)
        self.update = nn.Linear(4 + 7, 4)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        start, end = edges[0], edges[1]
        sent = F.relu(self.message(nodes[start]))
        got = torch.zeros(nodes.shape[0], 7).index_add(0, end, sent)
        together = torch.cat([nodes, got], dim=1)
        return self.update(together).log_softmax(dim=1)


class Squeeze(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.deep = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.bn = nn.BatchNorm2d(4)
        self.less = nn.Conv2d(4, 2, 1)
        self.more = nn.Conv2d(2, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.hardswish(self.bn(self.deep(x)))
        scale = y.mean((2, 3), keepdim=True)
        scale = torch.sigmoid(self.more(F.relu(self.less(scale))))
        y = y * scale
        if self.training:
            keep = torch.rand(x.shape[0], 1, 1, 1) < 0.8
            y = y * keep / 0.8
        return x + y


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, 8))
        self.places = nn.Parameter(torch.zeros(1, 5, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        first = self.first.expand(x.shape[0], -1, -1)
        x = torch.cat([first, x], dim=1) + self.places
        x = self.layer(x)
        return self.head(x[:, 0])


class TextCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 6)
        self.convs = nn.ModuleList([nn.Conv1d(6, 5, k) for k in (2, 3)])
        self.fc = nn.Linear(10, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids).transpose(1, 2)
        found: list[Tensor] = []
        for conv in self.convs:
            y = F.relu(conv(x))
            y = F.max_pool1d(y, y.shape[-1])
            found.append(y.squeeze(-1))
        x = torch.cat(found, dim=1)
        return self.fc(x)


ENTRIES = {
    "Gpt": "Gpt()(torch.zeros(2, 9, dtype=torch.long), torch.ones(2, 9, dtype=torch.long))",
    "ResNet": "ResNet()(torch.randn(2, 3, 32, 32))",
    "UNet": "UNet()(torch.randn(2, 1, 8, 8))",
    "Vae": "Vae()(torch.randn(4, 20))",
    "Recurrent": "Recurrent()(torch.randn(3, 4, 5))",
    "Llama": "Llama()(torch.randn(2, 5, 8))",
    "Experts": "Experts()(torch.randn(7, 6))",
    "Graph": "Graph()(torch.randn(6, 4), torch.tensor([[0, 1, 2], [3, 4, 5]]))",
    "Squeeze": "Squeeze()(torch.randn(2, 4, 6, 6))",
    "Vit": "Vit()(torch.randn(3, 3, 8, 8))",
    "TextCnn": "TextCnn()(torch.zeros(3, 11, dtype=torch.long))",
    "Block": "Block(16, 4)(torch.randn(2, 6, 16))",
}
"""For each model a call of it."""
