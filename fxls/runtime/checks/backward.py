"""One backward of torch's: what its nodes made of the gradients that they were given.

All of this but `harm_of` is asked only when a gradient is not finite.
"""

from __future__ import annotations

import enum
import functools
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.rules import Rule
from fxls.runtime.checks import loss_scaling
from fxls.runtime.checks.verdict import is_finite, not_finite, tensors_of
from fxls.runtime.torch_private import graph_task, number_of

__all__ = ["Backward", "Gradient", "Harm", "Made", "Target", "harm_of", "key_of"]

Gradient = torch.Tensor | None


@dataclass(frozen=True, slots=True)
class Target:
    """A node that a gradient goes to, and as which of its outputs."""

    node: Any
    output: int

    @property
    def number(self) -> int:
        """The number of the node; one beyond all others for a leaf."""
        return number_of(self.node)

    @property
    def is_leaf(self) -> bool:
        """Whether the gradients of a parameter, or of an input, are added up there."""
        return getattr(self.node, "variable", None) is not None

    @property
    def key(self) -> int:
        """What stands for the node in a set."""
        return key_of(self.node)


def key_of(node: Any) -> int:
    """What stands for a node in a set: its number, or the leaf that it is for."""
    variable = getattr(node, "variable", None)
    return number_of(node) if variable is None else -id(variable)


class Made:
    """What one node made, and of what."""

    def __init__(
        self, node: Any, made: Sequence[Gradient], given: Sequence[Gradient]
    ) -> None:
        self.node = node
        self.made, self.given = made, given
        self.number = number_of(node)
        self.nan = _with_nan(made)
        """Which of what it made has a NaN."""
        self.given_nan = _with_nan(given)

    @property
    def is_given_nan(self) -> bool:
        """Whether there was a NaN before."""
        return bool(self.given_nan)

    def target(self, index: int) -> Target:
        """Where one of the gradients goes to."""
        node, output = self.node.next_functions[index]
        return Target(node, output)

    def infinite(self) -> list[Target]:
        """Where gradients go to that are infinite and have no NaN."""
        return [
            self.target(i)
            for i, gradient in enumerate(self.made)
            if i not in self.nan and gradient is not None and not is_finite(gradient)
        ]

    def given_as(self, name: str) -> dict[str, Any]:
        """What it was given as the gradient of a value; empty where that is in parts."""
        if len(self.given) != 1 or self.given[0] is None:
            return {}
        return {f"grad_{name}": self.given[0]}


class Backward:
    """What is known of one backward, whichever listings its nodes are of."""

    def __init__(self) -> None:
        self.has_nan = False
        """Whether there was a NaN that somebody was named for."""
        self._from_singular: set[int] = set()
        """What gets gradients that are not finite however small the loss is."""
        self._attended: set[int] = set()
        self._reached: weakref.WeakKeyDictionary[object, set[int]]
        self._reached = weakref.WeakKeyDictionary()

    @staticmethod
    def current() -> Backward:
        """The one that runs in this thread."""
        task = graph_task()
        known = _backwards.get(task)
        if known is None:
            while len(_backwards) >= _KEPT:
                del _backwards[next(iter(_backwards))]
            known = _backwards[task] = Backward()
        return known

    def note(self, made: Made) -> bool:
        """Note what a node made; whether a NaN in it is worth saying.

        It is not when a scaler made the loss too large for the type of the gradients:
        that is how the scaler finds out, and it then skips the step.
        """
        infinite = made.infinite()
        says = True
        if loss_scaling.is_scaled(graph_task()):
            says = key_of(made.node) in self._from_singular or _is_singular(made)
            if says:
                to = [*infinite, *(made.target(i) for i in made.nan)]
                self._from_singular.update(target.key for target in to)
        if made.nan:
            self.has_nan = True
        return says

    def reached(self, asks: object, targets: Iterable[Target]) -> Iterator[Target]:
        """Where infinite gradients come to, also through nodes that hand them on.

        Who asks is told of each node once.
        """
        known = self._reached.setdefault(asks, set())
        waiting = list(targets)
        while waiting:
            target = waiting.pop()
            if target.key not in known:
                known.add(target.key)
                yield target
                if _hands_on(target.node):
                    further = target.node.next_functions
                    waiting += (Target(*to) for to in further if to[0] is not None)

    def attend(
        self, target: Target, found: Callable[[torch.Tensor], Exception | None]
    ) -> None:
        """Call `found` with what a node is given, if that has a NaN that nobody made."""
        key = target.key
        if key in self._attended:
            return
        self._attended.add(key)
        says = not loss_scaling.is_scaled(graph_task()) or key in self._from_singular
        task = graph_task()

        def arrived(given: Sequence[Gradient]) -> None:
            handle.remove()
            if self.has_nan or task != graph_task() or not (bad := _with_nan(given)):
                return
            self.has_nan = True
            gradient = given[bad[0]]
            error = found(gradient) if says and gradient is not None else None
            if error is not None:
                raise error

        handle = target.node.register_prehook(arrived)


_KEPT = 16
_backwards: dict[int, Backward] = {}


def _with_nan(gradients: Sequence[Gradient]) -> list[int]:
    return [
        i
        for i, gradient in enumerate(gradients)
        if gradient is not None
        and not is_finite(gradient)
        and not_finite(Rule.GRAD_NAN, gradient)
    ]


def _is_singular(made: Made) -> bool:
    """Whether a node makes what is not finite of the smallest gradients as well.

    A backward is linear, so it makes zeros of zeros, unless what it multiplies by is
    infinite or NaN itself. Functions of the user's are not called again: one of these
    is to blame when it makes a NaN of finite gradients.
    """
    if not _is_torchs(made.node):
        return bool(made.nan) and all(g is None or is_finite(g) for g in made.given)
    zeros = [None if g is None else torch.zeros_like(g) for g in made.given]
    results: Any = attempt(lambda: made.node(*zeros))
    if isinstance(results, Raised):
        return False
    return not all(is_finite(one) for one in tensors_of(results))


def _is_torchs(node: Any) -> bool:
    """Whether a node is one of torch's own, which do nothing but compute."""
    kind: type = type(cast("object", node))
    return (
        kind.__mro__[1:] == (object,)
        and _GENERATED.fullmatch(kind.__name__) is not None
    )


_GENERATED = re.compile(r"\w+Backward\d+")


class Harm(enum.Enum):
    """When a node of autograd can make what is not finite of gradients that are."""

    NEVER = enum.auto()
    """It hands on numbers that it gets, at other places at most, or drops them."""
    WITH_OTHER_SHAPES = enum.auto()
    """It may add up gradients of one that was broadcast, or multiply them."""
    ALWAYS = enum.auto()


@functools.cache
def harm_of(kind: type[Any]) -> Harm:
    """When the nodes of a class of autograd's can do harm."""
    operator = _operator(kind)
    if operator in _MOVING:
        return Harm.NEVER
    return Harm.WITH_OTHER_SHAPES if operator in _ARITHMETIC else Harm.ALWAYS


def _hands_on(node: Any) -> bool:
    """Whether a node may give what it gets, infinite numbers included."""
    return _operator(type(cast("object", node))) in _HANDING_ON


@functools.cache
def _operator(kind: type) -> str:
    """``View`` of ``ViewBackward0``."""
    return kind.__name__.rstrip("0123456789").removesuffix("Backward")


_MOVING = {
    *("Alias", "Cat", "Clone", "Narrow", "Permute", "Relu", "ReshapeAlias", "Select"),
    "Slice",
    *("Split", "SplitWithSizes", "Squeeze", "Stack", "T", "Transpose", "Unbind"),
    *("UnsafeView", "Unsqueeze", "View"),
}
_ARITHMETIC = {"Add", "Div", "Expand", "MaskedFill", "Mul", "Sub"}
_HANDING_ON = _MOVING | _ARITHMETIC
