"""What lies at the dotted paths of a module, for programs that make GraphModules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch

from fxls.engine.module.attributes import fetch

__all__ = [
    "_CodeOnlyModule",
    "_assign_attr",
    "_copy_attr",
    "_del_attr",
    "_forward_from_src",
    "_get_attr",
    "_get_attr_via_attr_list",
    "_has_attr",
]


class _CodeOnlyModule(torch.nn.Module):
    """A module of the attributes in a dict, which has its code from elsewhere."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(
    from_module: torch.nn.Module, to_module: torch.nn.Module, target: str
) -> None:
    """Put what a path leads to in one module at the same path in another one.

    Nothing where both have the same object already, so that modules stay whole.
    """
    *way, last = target.split(".")
    source: Any = from_module
    place: Any = to_module
    for atom in way:
        source, there = getattr(source, atom), getattr(place, atom, None)
        if there is source:
            return
        if there is None:
            there = torch.nn.Module()
            setattr(place, atom, there)
        place = there
    _put(place, last, getattr(source, last))


def _assign_attr(from_obj: object, to_module: torch.nn.Module, target: str) -> None:
    """Put a value at a path of a module, with modules on the way."""
    *way, last = target.split(".")
    place: Any = to_module
    for atom in way:
        there = getattr(place, atom, None)
        if there is None:
            there = torch.nn.Module()
            setattr(place, atom, there)
        place = there
    _put(place, last, from_obj)


def _get_attr(model: torch.nn.Module, attr_name: str) -> Any:
    """What a path leads to."""
    return fetch(model, attr_name)


def _get_attr_via_attr_list(model: torch.nn.Module, attr_list: Sequence[str]) -> Any:
    """What a path leads to that is given in its parts."""
    return fetch(model, ".".join(attr_list)) if attr_list else model


def _has_attr(model: torch.nn.Module, attr_name: str) -> bool:
    """Whether a path leads anywhere."""
    place: Any = model
    for atom in attr_name.split("."):
        if not hasattr(place, atom):
            return False
        place = getattr(place, atom)
    return True


def _del_attr(model: torch.nn.Module, attr_name: str) -> None:
    """Remove what a path leads to."""
    way, _, last = attr_name.rpartition(".")
    delattr(fetch(model, way) if way else model, last)


def _forward_from_src(
    src: str,
    globals: dict[str, Any],  # noqa: A002 - FX's signature
    co_fields: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """The function ``forward`` that a source defines."""
    names = dict(globals)
    exec(compile(src, "<generated forward>", "exec"), names)
    forward = names["forward"]
    assert isinstance(forward, FunctionType), f"{forward!r} is no function"
    return forward


def _put(place: Any, name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        place.register_buffer(name, value)
    else:
        setattr(place, name, value)
