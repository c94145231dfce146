"""The symbolic sizes that a graph computes with, and the nodes that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import torch

from fxls.engine.ir.node import Node

__all__ = ["Symbols", "symbols_of"]


class Symbols:
    """For each symbol the first node whose value is just that symbol.

    Values are what ``meta["example_value"]`` says.
    """

    def __init__(self) -> None:
        self._holders: dict[Any, Node] = {}

    def note(self, node: Node) -> None:
        """Note the next node of the graph."""
        value = node.noted("example_value")
        if isinstance(value, torch.SymInt | torch.SymFloat):
            expression = cast("Any", value).node.expr
            if expression.is_Symbol:
                self._holders.setdefault(expression, node)

    def needed_by(self, node: Node) -> list[Node]:
        """The nodes that hold the symbols in a node's value, in the symbols' order."""
        if not self._holders:
            return []
        names = sorted(symbols_of(node.noted("example_value")), key=str)
        return [self._holders[one] for one in names if one in self._holders]


def symbols_of(value: Any) -> set[Any]:
    """The symbols in a value: a size, a tensor, or what holds some."""
    return {symbol for one in _sizes(value) for symbol in one.node.expr.free_symbols}


def _sizes(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        yield value
    elif isinstance(value, torch.Tensor):
        yield from _sizes(value.size())
        if value.layout is torch.strided:
            yield from _sizes(value.stride())
            yield from _sizes(value.storage_offset())
    elif isinstance(value, tuple | list):
        for one in cast("Iterable[Any]", value):
            yield from _sizes(one)
