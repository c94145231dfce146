"""The classes of lsprotocol become classes of attrs when they are first needed.

It has five hundred. A server needs some forty before it answers `initialize`, and making
all of them takes half of its start. Imports no library at once, because it has to come
before all others.
"""

from __future__ import annotations

import sys
import threading
import typing
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["made_when_needed"]

_TYPES = "lsprotocol.types"


@contextmanager
def made_when_needed() -> Generator[None]:
    """Let the classes that the body imports be made when somebody makes an object of one,
    or asks for its fields.

    Until then they have their names, annotations and methods, and what attrs would write
    is not there. A version of lsprotocol that makes classes in another way is imported as
    it is.
    """
    import attrs  # noqa: PLC0415 - after the collector was disabled

    define: Any = attrs.define

    def put_off(kind: type | None = None, **options: Any) -> Any:
        if kind is None or options or kind.__module__ != _TYPES:
            return define(kind, **options)
        _put_off(kind, define)
        return kind

    attrs.define = put_off
    try:
        yield
    finally:
        attrs.define = define
    hooks = sys.modules.get("lsprotocol._hooks")
    if hooks is not None:
        # It would ask each class for its fields, to find the types that they name.
        hooks.__dict__["_resolved_forward_references"] = True


class _Fields:
    """Stands for the fields of a class until somebody asks for them."""

    def __init__(self, make: Callable[[], None]) -> None:
        self._make = make

    def __get__(self, instance: object, owner: type) -> object:
        self._make()
        return vars(owner)["__attrs_attrs__"]


def _put_off(kind: type, define: Callable[..., type]) -> None:
    def make() -> None:
        with _one_at_a_time, _without_copies():
            # Another thread may have come first.
            if vars(kind)["__attrs_attrs__"] is fields:
                # Only a class with slots would have to be another object. What stands
                # for the constructor is no constructor of its own, which attrs keeps.
                define(kind, slots=False, init=True, field_transformer=_with_types)

    def constructed(self: object, *args: object, **kwargs: object) -> None:
        make()
        vars(kind)["__init__"](self, *args, **kwargs)

    fields = _Fields(make)
    setattr(kind, "__attrs_attrs__", fields)  # noqa: B010 - no attribute of a `type`
    setattr(kind, "__init__", constructed)  # noqa: B010 - as above


_one_at_a_time = threading.RLock()


def _with_types(kind: type, fields: Sequence[Any]) -> list[Any]:
    """The fields with the types that they name, which may be further down in the file."""
    # A copy, because names are added to what is given, and somebody may go through it.
    names = {**sys.modules[_TYPES].__dict__["ALL_TYPES_MAP"]}
    types = typing.get_type_hints(kind, names, {})
    return [field.evolve(type=types[field.name]) for field in fields]


@contextmanager
def _without_copies() -> Generator[None]:
    """Let attrs think that the module of the classes is not there yet.

    It gives the methods of each class the names of its whole module, so that
    `typing.get_type_hints` can be asked about ``__init__``: with five hundred classes
    that is ten megabytes. cattrs asks about the classes.
    """
    import attr._make as maker  # noqa: PLC0415 - it is there by then

    maker.__dict__["sys"] = _Sys()
    try:
        yield
    finally:
        maker.__dict__["sys"] = sys


class _Modules:
    """`sys.modules` without lsprotocol's types."""

    def __contains__(self, name: str) -> bool:
        return name != _TYPES and name in sys.modules

    def __getitem__(self, name: str) -> object:
        return sys.modules[name]


class _Sys:
    modules = _Modules()

    def __getattr__(self, name: str) -> object:
        return getattr(sys, name)
