"""Whether two runs of a program came to the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, cast

import torch

from fxls.worker.catching import UserRaised, caught

__all__ = ["gradients", "is_same"]

_DEEPEST = 30


def is_same(one: Any, other: Any, depth: int = 0) -> bool:
    """Whether two values are equal in kind and, bit by bit, in what they hold.

    What is not a number is equal to itself; of an object its attributes are compared.
    """
    if not _is_same_name(type(one), type(other)) or depth > _DEEPEST:
        return False
    inner = depth + 1
    # Not imported: torch does without it, and then there is no value of it.
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(one, numpy.ndarray):
        return _is_same_array(numpy, one, other)
    match one, other:
        case torch.Tensor(), torch.Tensor():
            return _is_same_tensor(one, other, inner)
        case str() | bytes(), _:
            return one == other
        case Mapping(), Mapping():
            return _is_same_mapping(one, other, inner)
        case Sequence(), Sequence():
            return _is_same_row(one, other, inner)
        case _:
            return _is_same_object(one, other, inner)


def gradients(outputs: object, given: object) -> list[torch.Tensor | None] | None:
    """What the outputs together have as gradients in the parameters and inputs `given`,
    in their order; None where there are none, or none can be computed.
    """
    # Values of the program's own classes may raise whatever they are asked.
    found = caught(lambda: _gradients([*_tensors(outputs)], [*_tensors(given)]))
    return None if isinstance(found, UserRaised) else found


def _gradients(
    outputs: list[torch.Tensor], given: list[torch.Tensor]
) -> list[torch.Tensor | None] | None:
    of = [one for one in outputs if one.requires_grad]
    leaves = [one for one in given if one.requires_grad and one.is_leaf]
    if not of or not leaves:
        return None
    # A plain sum of a softmax has no gradient.
    any_torch: Any = torch
    any_torch.manual_seed(0)
    weights = [torch.randn_like(one) for one in of]
    return [*any_torch.autograd.grad(of, leaves, weights, allow_unused=True)]


def _tensors(of: object) -> Iterator[torch.Tensor]:
    """The tensors in a value, those that modules in it learn included."""
    left, seen = [of], set[int]()
    while left:
        one = left.pop()
        if isinstance(one, MethodType):
            one = one.__self__
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case torch.Tensor():
                yield one
            case torch.nn.Module():
                yield from one.parameters()
            case str() | bytes() | type() | ModuleType():
                pass
            case Mapping():
                left += cast("Mapping[object, object]", one).values()
            case Sequence():
                left += cast("Sequence[object]", one)
            case _:
                left += _attributes(one).values()


def _is_same_name(one: Any, other: Any) -> bool:
    """Whether two classes, or functions, are one; each run imports the file anew."""
    return one is other or (
        (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    )


def _is_same_mapping(one: Any, other: Any, depth: int) -> bool:
    return [*one] == [*other] and all(
        is_same(one[key], other[key], depth) for key in one
    )


def _is_same_row(one: Any, other: Any, depth: int) -> bool:
    return len(one) == len(other) and all(
        is_same(*pair, depth) for pair in zip(one, other, strict=True)
    )


def _is_same_array(numpy: Any, one: Any, other: Any) -> bool:
    has_nan = one.dtype.kind in "fc"
    same = numpy.array_equal(one, other, equal_nan=has_nan)
    return one.dtype == other.dtype and bool(same)


def _is_same_object(one: object, other: object, depth: int) -> bool:
    if one is other:
        return True
    if isinstance(one, type | FunctionType):
        return _is_same_name(one, other)
    if type(one).__eq__ is not object.__eq__:
        # That of a dataclass with tensors raises, or they have no truth.
        equal = caught(lambda: bool(one == other or (one != one and other != other)))
        if equal is True:
            return True
    held = _attributes(one)
    return bool(held) and is_same(held, _attributes(other), depth)


def _attributes(of: object) -> dict[str, object]:
    """What an object holds, also where its class has slots."""
    slots = {
        name
        for kind in type(of).__mro__
        if "__slots__" in vars(kind)
        for name, value in vars(kind).items()
        if isinstance(value, MemberDescriptorType) and hasattr(of, name)
    }
    held = {name: getattr(of, name) for name in sorted(slots)}
    return {**held, **getattr(of, "__dict__", {})}


def _is_same_tensor(one: torch.Tensor, other: torch.Tensor, depth: int) -> bool:
    same = (
        one.dtype == other.dtype
        and one.device == other.device
        and one.layout == other.layout
        and one.requires_grad == other.requires_grad
        and one.is_nested == other.is_nested
    )
    if not same:
        return False
    if one.is_nested:
        return _is_same_row(one.unbind(), other.unbind(), depth)
    if one.shape != other.shape:
        return False
    if one.is_meta:
        return True
    one, other = one.detach(), other.detach()
    if one.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    equal = one == other
    if one.is_floating_point() or one.is_complex():
        equal = equal | ((one != one) & (other != other))
    return bool(equal.all())
