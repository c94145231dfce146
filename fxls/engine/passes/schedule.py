"""The order of passes: constraints on pairs of them, checked and solved."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any, TypeAlias

__all__ = ["Constraint", "Pass", "before", "check", "solve", "unwrapped_before"]

Pass: TypeAlias = Callable[..., Any]

Constraint: TypeAlias = Callable[[Pass, Pass], bool]
"""Whether one pass may run somewhere before another."""


def before(this: Pass, that: Pass) -> Constraint:
    """The constraint that `this` runs before `that`."""

    def allows(a: Pass, b: Pass) -> bool:
        return not (a == that and b == this)

    return allows


def unwrapped_before(these: Pass, those: Pass) -> Constraint:
    """As `before`, for passes that were wrapped since, by `loop_pass` for instance."""

    def allows(a: Pass, b: Pass) -> bool:
        return not (unwrap(a) == those and unwrap(b) == these)

    return allows


def check(passes: Sequence[Pass], constraint: Constraint) -> None:
    """Raise RuntimeError when two passes stand in an order that is not allowed."""
    for i, first in enumerate(passes):
        for j in range(i + 1, len(passes)):
            second = passes[j]
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {second} before"
                    f" {first} but found {first} at index {i} and {second} at index"
                    f" {j} in pass list."
                )


def solve(passes: Sequence[Pass], constraints: Sequence[Constraint]) -> list[Pass]:
    """The passes in an order that is allowed; as they stand where nothing forbids it.

    RuntimeError names those that wait for one another.
    """
    if not constraints:
        return list(passes)
    later: dict[Pass, list[Pass]] = {one: [] for one in passes}
    waits_for = dict.fromkeys(passes, 0)
    for first in passes:
        for second in passes:
            for constraint in constraints:
                if first != second and not constraint(first, second):
                    later[second].append(first)
                    waits_for[first] += 1
    ready = deque([one for one in passes if waits_for[one] == 0])
    order: list[Pass] = []
    while ready:
        one = ready.popleft()
        order.append(one)
        for other in later[one]:
            waits_for[other] -= 1
            if waits_for[other] == 0:
                ready.append(other)
    waiting = [one for one, count in waits_for.items() if count]
    if waiting:
        raise RuntimeError(
            f"Circular dependency detected within the following passes: {waiting}"
        )
    return order
