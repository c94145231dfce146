"""Which example inputs are tried next, by the layer that could not take the last ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from fxls.worker.fitting.written_inputs import Example

__all__ = ["Refusal", "first_width", "guided", "unguided"]

_SIDES = {1: 32, 2: 32, 3: 8}
"""How long the sides of an image are, by how many it has."""

_LENGTH = 8

_OTHER_SIDES = (224, 28, 64, 128, 256, 299, 96, 16)
_OTHER_LENGTHS = (16, 64, 49, 128, 1)

_OF_INDICES = ((1, _LENGTH), (1, 2, _LENGTH), (1,), (_LENGTH,), (2, _LENGTH))
"""Texts; choices between texts, as in tests of reading; numbers of classes."""

_MASKS = ("ones", "mask")

_TURNED_LINEAR = "Conv1D"
"""The layer of transformers that GPT-2 is made of; its weight has the inputs first."""

_CONVOLUTIONS = (
    (nn.Conv1d, nn.ConvTranspose1d),
    (nn.Conv2d, nn.ConvTranspose2d),
    (nn.Conv3d, nn.ConvTranspose3d),
)
_NORMS = (
    (nn.InstanceNorm1d,),
    (nn.BatchNorm2d, nn.InstanceNorm2d),
    (nn.BatchNorm3d, nn.InstanceNorm3d),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a call ended in."""

    layer: nn.Module | None
    """The innermost module that was called when it ended."""
    given: tuple[int, ...] | None
    """The shape of the tensor that this was called with first."""
    is_of_sequences: bool = False
    """Whether the model is called as those are that take sequences."""


def guided(
    examples: Sequence[Example], refusal: Refusal
) -> Iterator[tuple[Example, ...]]:
    """Inputs that the refusing layer takes, as far as they come to it as they are."""
    layer, given = refusal.layer, refusal.given
    if layer is None or given is None:
        return
    wanted = _wanted(layer, given)
    if wanted is None:
        return
    is_free = wanted.kind == "randn" and not isinstance(layer, nn.RNNCellBase)
    if refusal.is_of_sequences and is_free and len(given) == len(wanted.shape) == 2:
        # A layer of features takes one of a sequence as well.
        wanted = replace(wanted, shape=(1, _LENGTH, wanted.shape[-1]))
    to_it = [at for at, one in enumerate(examples) if one.shape == given]
    if not to_it:
        yield from _larger(examples, wanted, given)
        to_it = [at for at, one in enumerate(examples) if one.kind not in _MASKS][:1]
    elif len(to_it) > 1:
        yield _with(examples, to_it, wanted)
    for at in to_it:
        yield _with(examples, [at], wanted)


def unguided(
    examples: Sequence[Example], width: int | None
) -> Iterator[tuple[Example, ...]]:
    """Inputs of every usual shape, of this width and of their own."""
    masks = [at for at, one in enumerate(examples) if one.kind == "ones"]
    if masks:
        examples = tuple(
            replace(one, kind="mask") if one.kind == "ones" else one for one in examples
        )
        yield examples
    numbers = [at for at, one in enumerate(examples) if one.kind == "randn"]
    if not numbers:
        # What is called tokens may be vectors as well.
        numbers = [at for at, one in enumerate(examples) if one.kind == "indices"]
        for shape in _OF_INDICES if numbers else ():
            yield _with(examples, numbers, Example("indices", shape))
    if not numbers:
        return
    shape = [*examples[numbers[0]].shape]
    own = shape[1] if len(shape) > 3 else shape[-1]
    usual = [*_usual([*dict.fromkeys(filter(None, (width, own)))])]
    for one in usual:
        yield _with(examples, numbers, Example("randn", one))
    if len(numbers) > 1:
        for at in numbers:
            for one in usual[:8]:
                yield _with(examples, [at], Example("randn", one))
    # A norm of a batch needs two.
    yield tuple(
        replace(one, shape=(2, *one.shape[1:])) if one.shape[0] == 1 else one
        for one in examples
    )


def first_width(root: object) -> int | None:
    """How many features the first layer of a model takes that says so."""
    if not isinstance(root, nn.Module):
        return None
    for layer in root.modules():
        wanted = _wanted(layer, (1,))
        if wanted is not None and wanted.kind == "randn":
            is_last = len(wanted.shape) < 3 or _is_sequence(layer)
            return [*wanted.shape][-1 if is_last else 1]
    return None


def _usual(widths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for width in widths:
        yield 1, _LENGTH, width
        yield 1, width, 32, 32
        yield 1, width
    yield 1, 3, 32, 32
    yield 1, 3, 224, 224
    yield 1, 3, _LENGTH, 32, 32
    yield 1, 3, _LENGTH
    for width in widths:
        yield 1, _LENGTH, _LENGTH, width
        yield 1, width, _LENGTH, _LENGTH, _LENGTH
        yield from ((1, length, width) for length in _OTHER_LENGTHS)
        yield from ((1, width, side, side) for side in _OTHER_SIDES)
        yield 1, 2, _LENGTH, _LENGTH, width
        yield _LENGTH, width
        yield 1, width, _LENGTH
        yield (width,)


def _wanted(layer: nn.Module, given: tuple[int, ...]) -> Example | None:
    """A tensor that a layer takes, as much as it can be like the given one."""
    one: Any = layer
    for sides, kinds in enumerate(_CONVOLUTIONS, 1):
        if isinstance(layer, kinds):
            return _spatial(one.in_channels, sides, given, max(one.kernel_size))
    for sides, kinds in enumerate(_NORMS, 1):
        if isinstance(layer, kinds):
            return _spatial(one.num_features, sides, given)
    if isinstance(layer, nn.BatchNorm1d):
        tail = given[2:3] if len(given) == 3 else ()
        return Example("randn", (max(given[0], 2), one.num_features, *tail))
    if isinstance(layer, nn.GroupNorm):
        return _spatial(one.num_channels, max(len(given) - 2, 0) or 2, given)
    if isinstance(layer, nn.Embedding | nn.EmbeddingBag):
        return Example("indices", given if len(given) == 2 else (1, _LENGTH))
    if isinstance(layer, nn.LayerNorm | nn.RMSNorm):
        return _features(tuple(one.normalized_shape), given)
    if isinstance(layer, nn.Linear):
        return _features((one.in_features,), given)
    if type(layer).__name__ == _TURNED_LINEAR and one.weight.dim() == 2:
        return _features((one.weight.shape[0],), given)
    return _of_width(layer)


def _of_width(layer: nn.Module) -> Example | None:
    """A tensor for a layer that takes one rank alone."""
    for kind, width, ahead in _BY_WIDTH:
        if isinstance(layer, kind):
            return Example("randn", (*ahead, getattr(layer, width)))
    return None


_BY_WIDTH: tuple[tuple[type[nn.Module], str, tuple[int, ...]], ...] = (
    (nn.RNNBase, "input_size", (1, _LENGTH)),
    (nn.RNNCellBase, "input_size", (1,)),
    (nn.MultiheadAttention, "embed_dim", (1, _LENGTH)),
)
"""Which attribute says how many features are taken, and what stands ahead of them."""


def _is_sequence(layer: nn.Module) -> bool:
    return isinstance(layer, nn.RNNBase | nn.MultiheadAttention | nn.LayerNorm)


def _spatial(
    channels: int, sides: int, given: tuple[int, ...], kernel: int = 1
) -> Example:
    if len(given) == sides + 2:
        room = tuple(max(side, kernel) for side in given[2:])
        return Example("randn", (given[0], channels, *room))
    return Example("randn", (1, channels, *[max(_SIDES[sides], kernel)] * sides))


def _features(last: tuple[int, ...], given: tuple[int, ...]) -> Example:
    ahead = given[: -len(last)] if len(last) < len(given) < 4 else (1,)
    return Example("randn", (*ahead, *last))


def _larger(
    examples: Sequence[Example], wanted: Example, given: tuple[int, ...]
) -> Iterator[tuple[Example, ...]]:
    """Inputs with longer sides, or sequences, so that more features come to a layer."""
    if len(given) != 2 or wanted.kind != "randn" or not given[1]:
        return
    for at, one in enumerate(examples):
        sides = len(one.shape) - 2
        if one.kind == "randn" and sides > 0:
            ratio = (wanted.shape[-1] / given[1]) ** (1 / sides)
            longer = tuple(max(math.ceil(side * ratio), 1) for side in one.shape[2:])
            tries = [longer, *((side,) * sides for side in _OTHER_SIDES)]
            for room in tries:
                shape = (*one.shape[:2], *room)
                yield _with(examples, [at], Example("randn", shape))


def _with(
    examples: Sequence[Example], places: Sequence[int], one: Example
) -> tuple[Example, ...]:
    """With another one at some places; masks follow what they are for."""
    before = examples[places[0]].shape
    changed = list(examples)
    for at, old in enumerate(examples):
        if at in places:
            changed[at] = one
        elif old.kind in _MASKS and old.shape == before[: len(old.shape)]:
            changed[at] = replace(old, shape=one.shape[: len(old.shape)])
    return tuple(changed)
