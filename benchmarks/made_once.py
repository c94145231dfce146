"""The models that are measured, each made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from torch import nn

from benchmarks import models

__all__ = [
    "forget_models",
    "models_and_chain",
    "named",
    "of_size",
]


@cache
def of_size(kind: Callable[[int], nn.Module], size: int) -> nn.Module:
    return kind(size)


@cache
def named(name: str) -> nn.Module:
    return models.GRAPHS[name]()


def forget_models() -> None:
    """Let models go, which every full collection would walk."""
    of_size.cache_clear()
    named.cache_clear()


def models_and_chain() -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    for name in models.MODELS:
        yield name, lambda name=name: named(name)
    yield "chain 10k", lambda: of_size(models.Chain, 10_000)
