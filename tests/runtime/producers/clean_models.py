"""Models in whose compilation nothing goes wrong, written the ways people write them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

__all__ = ["clean_models"]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(F.gelu(self.first(x)))


class Attention(nn.Module):
    def __init__(self, *, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return self.out(
            F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        )


class Looping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Residual() for _ in range(3))
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        for number, layer in enumerate(self.layers):
            x = layer(x) if number % 2 else x + layer(x)
        return {name: head(x) for name, head in self.heads.items()}


class Optional(nn.Module):
    def forward(self, x: Tensor, mask: Tensor | None = None, *rest: Tensor) -> Tensor:
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        return sum((x, *rest), torch.zeros(()))


class Counting(nn.Module):
    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(x.mean(0))
        return x - self.seen


def rotary(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def loss(x: Tensor, wanted: Tensor) -> Tensor:
    return F.cross_entropy(x, wanted, label_smoothing=0.1)


def nested(x: Tensor) -> tuple[list[Tensor], dict[str, Any]]:
    parts = [part * number for number, part in enumerate(x.unbind())]
    return parts, {"sum": torch.stack(parts).sum(), "count": len(parts)}


def where(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, x.exp() - 1)


def quiet(x: Tensor) -> Tensor:
    with torch.no_grad():
        scale = x.abs().max()
    return x / scale


def products(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ij,kj->ik", a, b)


def clean_models() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Each with what it is called with."""
    x = torch.randn(4, 8)
    image = torch.randn(2, 3, 8, 8)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return {
        "linear": (nn.Linear(8, 4), (x,)),
        "convolution": (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
            (image,),
        ),
        "evaluated": (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval(),
            (image,),
        ),
        "dropout": (nn.Sequential(nn.Linear(8, 8), nn.Dropout()), (x,)),
        "embedding": (nn.Embedding(10, 4), (torch.tensor([[1, 2], [3, 4]]),)),
        "group norm": (nn.GroupNorm(1, 3), (image,)),
        "layer norm": (nn.LayerNorm(8), (x,)),
        "pooling": (nn.AdaptiveAvgPool2d(1), (image,)),
        "upsampling": (nn.Upsample(scale_factor=2), (image,)),
        "cell": (nn.GRUCell(8, 8), (x, x)),
        "transformer": (layer, (x[None],)),
        "residual": (Residual(), (x,)),
        "attention": (Attention(is_causal=False), (x[None],)),
        "causal attention": (Attention(is_causal=True), (x[None],)),
        "looping": (Looping(), (x,)),
        "no mask": (Optional(), (x,)),
        "mask": (Optional(), (x, x > 0, x)),
        "buffer": (Counting(), (x,)),
        "rotary": (rotary, (x,)),
        "loss": (loss, (x, torch.tensor([1, 2, 3, 4]))),
        "nested": (nested, (x,)),
        "where": (where, (x,)),
        "no gradient": (quiet, (x,)),
        "einsum": (products, (x, x)),
    }
