"""How long a worker takes to build a model whose weights are random.

``python -m benchmarks.drawn_weights``; the two ways take turns, and the time is that of
the processor.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

from torch import nn

from fxls.worker.drawn_weights import draw_less

_PAIRS = 5


def convolutions() -> nn.Module:
    """The convolutions of a ResNet-50."""
    found: list[nn.Conv2d] = []
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for _ in range(blocks):
            found.append(nn.Conv2d(width * 4, width, 1, bias=False))
            found.append(nn.Conv2d(width, width, 3, bias=False))
            found.append(nn.Conv2d(width, width * 4, 1, bias=False))
    return _normal(*found)


def twelve_layers() -> nn.Module:
    """The matrices of a GPT-2 of the smallest size."""
    pairs = [(768, 2304), (768, 768), (768, 3072), (3072, 768)]
    return _normal(nn.Embedding(50_257, 768), *map(_linear, pairs * 12))


def two_layers() -> nn.Module:
    """Those of two layers of a language model of seven billion parameters."""
    width, inside, words = 4096, 11_008, 32_000
    pairs = [(width, width)] * 8 + [(width, inside)] * 6 + [(width, words)]
    return _normal(nn.Embedding(words, width), *map(_linear, pairs))


def _linear(sizes: tuple[int, int]) -> nn.Linear:
    return nn.Linear(*sizes, bias=False)


def _normal(*layers: nn.Module) -> nn.Module:
    """Layers as libraries initialize them, behind what the layers do themselves."""
    for layer in layers:
        for weight in layer.parameters():
            nn.init.normal_(weight, std=0.02)
    return nn.Sequential(*layers)


def _seconds(build: Callable[[], nn.Module]) -> float:
    gc.collect()
    began = time.process_time()
    build()
    return time.process_time() - began


def main() -> None:
    print("| | parameters | torch alone | in a worker | ratio |")
    print("|---|---:|---:|---:|---:|")
    for what, build in (
        ("the convolutions of a ResNet-50", convolutions),
        ("the matrices of GPT-2", twelve_layers),
        ("those of two layers of Llama 7B", two_layers),
    ):
        count = sum(one.numel() for one in build().parameters())
        alone: list[float] = []
        less: list[float] = []
        for _ in range(_PAIRS):
            alone.append(_seconds(build))
            with draw_less():
                less.append(_seconds(build))
        ratio = median(a / b for a, b in zip(alone, less, strict=True))
        print(
            f"| {what} | {count / 1e6:,.0f} million | {median(alone):.2f} s "
            f"| {median(less):.2f} s | {ratio:.1f}x |"
        )


if __name__ == "__main__":
    main()
