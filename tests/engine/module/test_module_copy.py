"""Deep copies of modules are those that `copy.deepcopy` makes."""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict
from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls.engine.module.module_copy import deep_copy


class Shared(nn.Module):
    """One parameter under two names, one list in two places, and a hook."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        sizes: Any = [1, [2]]
        self.sizes = self.first.sizes = sizes
        self.table: Any = OrderedDict(a=sizes, b=(sizes,))
        self.names = {("x", 1): "one"}
        self.pair = (1, "two", None)
        self.register_buffer("seen", torch.zeros(3), persistent=False)
        self.register_forward_hook(seen)
        self.me = self.first


def seen(_module: nn.Module, _args: Any, _result: Any) -> None:
    pass


class Own(nn.Module):
    """Says itself how it is copied."""

    def __init__(self) -> None:
        super().__init__()
        self.made = "by hand"

    def __deepcopy__(self, memo: dict[int, Any]) -> Own:
        new = Own()
        new.made = "by __deepcopy__"
        return new


class Restored(nn.Module):
    """Changes what it is restored from."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, is_restored=True)


MODULES = {
    "a leaf": nn.ReLU,
    "a convolution": lambda: nn.Conv2d(2, 2, 3),
    "a normalization": lambda: nn.BatchNorm2d(2),
    "a recurrent one": lambda: nn.LSTM(2, 2),
    "a tree": lambda: nn.Sequential(nn.Linear(2, 2), nn.ModuleList([nn.Dropout()])),
    "shared parts": Shared,
    "a way of its own": Own,
    "a state of its own": Restored,
    "a transformer": lambda: nn.TransformerEncoderLayer(4, 2, 4),
}


@pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
def test_a_copy_has_what_a_deepcopy_has(make: Any) -> None:
    module = make()
    assert described(deep_copy(module, {})) == described(copy.deepcopy(module))


def test_what_was_copied_before_is_not_copied_again() -> None:
    module = nn.Sequential(nn.Linear(2, 2))
    memo: dict[int, Any] = {}
    assert deep_copy(module, memo) is deep_copy(module, memo)
    assert copy.deepcopy(module[0], memo) is deep_copy(module, memo)[0]


def test_a_copy_shares_no_container_and_no_tensor() -> None:
    module = Shared()
    new = deep_copy(module, {})
    assert new.first is not module.first
    assert new.sizes[1] is not module.sizes[1]
    assert new.first.weight is not module.first.weight
    assert new._parameters is not module._parameters


class Views(nn.Module):
    """Buffers of one storage, of parts of one, and of other kinds."""

    def __init__(self) -> None:
        super().__init__()
        whole = torch.arange(6.0)
        self.register_buffer("whole", whole)
        self.register_buffer("again", whole)
        self.register_buffer("part", whole[2:4])
        self.register_buffer("turned", torch.ones(2, 3).t())
        self.register_buffer("complex", torch.ones(2, dtype=torch.complex64).conj())
        self.register_buffer("noted", torch.zeros(2))
        cast("Any", self).noted.note = "mine"


def test_tensors_share_storage_as_they_did() -> None:
    ours: Any = deep_copy(Views(), {})
    theirs: Any = copy.deepcopy(Views())

    for new in (ours, theirs):
        new.whole[2] = 7
        assert new.again is new.whole
        assert new.part[0] == 7
        assert new.noted.note == "mine"
    for name in ("whole", "part", "turned", "complex"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert torch.equal(one, other)
        assert (one.stride(), one.storage_offset()) == (
            other.stride(),
            other.storage_offset(),
        )
        assert one.untyped_storage().nbytes() == other.untyped_storage().nbytes()


def described(value: Any) -> Any:
    """A value as nested plain ones; what occurred before, as the number it had."""
    seen: dict[int, int] = {}
    kept: list[Any] = []

    def walk(value: Any) -> Any:
        kind = type(value).__name__
        if isinstance(value, weakref.ref):
            return (kind, walk(cast("Any", value)()))
        if isinstance(value, nn.Module | list | dict | torch.Tensor):
            if id(cast("Any", value)) in seen:
                return seen[id(cast("Any", value))]
            seen[id(cast("Any", value))] = len(seen)
            kept.append(value)
        if isinstance(value, torch.Tensor):
            return (kind, str(value), value.requires_grad)
        if isinstance(value, nn.Module):
            return (kind, walk(value.__dict__))
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return (kind, [(walk(k), walk(v)) for k, v in items])
        if isinstance(value, list | tuple):
            return (kind, [walk(part) for part in cast("list[Any]", value)])
        if isinstance(value, set | frozenset):
            return (kind, sorted(map(str, cast("set[Any]", value))))
        return value

    return walk(value)
