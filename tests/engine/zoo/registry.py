"""Which modules are in the zoo."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import nn

__all__ = ["Example", "example", "examples"]

Kind = TypeVar("Kind", bound=type[nn.Module])

THEMES = (
    "containers",
    "expressions",
    "functions",
    "literals",
    "models",
    "opcodes",
    "signatures",
)


@dataclass(frozen=True, slots=True)
class Example:
    """A module class that needs no arguments, and inputs for its forward."""

    kind: type[nn.Module]
    inputs: Callable[[], tuple[Any, ...]]

    @property
    def name(self) -> str:
        return self.kind.__name__

    def make(self) -> nn.Module:
        """The module: the same numbers each time, in evaluation mode."""
        _seed(0)
        return self.kind().eval()


def example(*shapes: tuple[int, ...] | Callable[[], Any]) -> Callable[[Kind], Kind]:
    """Put the class in the zoo, with inputs of these shapes or made by these functions."""

    def inputs() -> tuple[Any, ...]:
        _seed(1)
        return tuple([s() if callable(s) else torch.randn(s) for s in shapes])

    def register(kind: Kind) -> Kind:
        _examples.append(Example(kind, inputs))
        return kind

    return register


def _seed(number: int) -> None:
    cast("Any", torch).manual_seed(number)


_examples: list[Example] = []


def examples() -> list[Example]:
    """The whole zoo."""
    for theme in THEMES:
        importlib.import_module(f"tests.engine.zoo.{theme}")
    return list(_examples)
