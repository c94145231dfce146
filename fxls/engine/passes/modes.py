"""Autocast and grad mode in a graph that is split: each part switches for itself.

A mode is switched by a node, and holds until another node switches it. A part that it
reaches into cannot rely on another part having switched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from fxls.engine.ir.node import Node
from fxls.engine.passes.split_partition import Partition
from fxls.engine.torch_private import enter_autocast, exit_autocast, set_grad_enabled

__all__ = ["Modes"]


class Modes:
    """The modes of a graph, and the numbers of the parts that each reaches into."""

    def __init__(self) -> None:
        self._grad: dict[Node, set[int]] = {}
        """Per node that sets grad mode."""
        self._autocast: dict[Node, set[int]] = {}
        """Per node that enters autocast."""
        self._exits: dict[Node, Node] = {}
        self._active: dict[Node, set[int]] = {}
        self._numbers: list[tuple[Node, int]] = []

    def is_switch(self, node: Node) -> bool:
        """Whether a node switches a mode."""
        return node.op == "call_function" and node.target in _SWITCHES

    def note(self, node: Node, number: int) -> None:
        """Note the next node of the graph, and the number of its part."""
        self._numbers.append((node, number))
        if self.is_switch(node):
            self._switch(node, number)
        for reached in self._active.values():
            reached.add(number)

    def check(self) -> None:
        """Raise AssertionError when the graph cannot be split with its modes."""
        for enter in self._autocast:
            if enter not in self._exits:
                raise AssertionError(
                    f"autocast must exit: {enter.format_node()} is not followed by an"
                    " exit"
                )
        if not self._autocast and not self._grad:
            return
        for (_, before), (node, number) in itertools.pairwise(self._numbers):
            if number < before:
                raise AssertionError(
                    "autocast or set_grad_enabled require monotonically increasing"
                    f" partitions: {node} goes to part {number}, behind part {before}"
                )

    def enter(self, part: Callable[[int], Partition]) -> None:
        """Switch each mode at the begin of every part that it reaches into."""
        for node, numbers in (*self._autocast.items(), *self._grad.items()):
            for number in sorted(numbers)[1:]:
                partition = part(number)
                partition.environment[node] = _copied(node, partition, node.args)

    def leave(self, part: Callable[[int], Partition]) -> None:
        """Exit autocast at the end of every part that it reaches beyond."""
        for node, numbers in reversed(self._autocast.items()):
            for number in sorted(numbers)[:-1]:
                partition = part(number)
                entered = (partition.environment[node],)
                _copied(self._exits[node], partition, entered)

    def _switch(self, node: Node, number: int) -> None:
        if node.target is exit_autocast:
            _expect(node, len(node.args) == 1 and node.args[0] in self._autocast)
            enter: Any = node.args[0]
            self._autocast[enter].add(number)
            self._active.pop(enter, None)
            self._exits[enter] = node
        elif node.target is enter_autocast:
            _expect(node, not node.all_input_nodes)
            self._active[node] = self._autocast[node] = {number}
        else:
            _expect(node, len(node.args) == 1 and isinstance(node.args[0], bool))
            for earlier in self._grad:
                self._active.pop(earlier, None)
            self._active[node] = self._grad[node] = {number}


def _expect(node: Node, is_right: bool) -> None:  # noqa: FBT001 - an assertion
    if not is_right:
        raise AssertionError(
            f"{node.format_node()} switches a mode, and has other arguments than the"
            " Python constants or the entering node that are expected"
        )


def _copied(node: Node, partition: Partition, args: tuple[Any, ...]) -> Node:
    made = partition.graph.create_node(
        node.op, node.target, tuple(args), type_expr=node.type
    )
    made.meta = node.meta.copy()
    made._frames = node._frames
    return made


_SWITCHES = frozenset({enter_autocast, exit_autocast, set_grad_enabled})
