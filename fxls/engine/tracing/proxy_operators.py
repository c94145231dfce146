"""The operators of a proxy: each use of one appends a node."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fxls.engine.ir.target_names import OPERATORS

if TYPE_CHECKING:
    from fxls.engine.tracing.proxy import Proxy

__all__ = ["UNREFLECTED", "define_operators"]


def define_operators(proxy: type[Proxy]) -> None:
    """Give the class a method for each operator, and for its reflection."""
    # Assigned, not written in the class: a class that defines __eq__ loses __hash__.
    proxy.__abs__ = _recording(operator.abs, "__abs__")  # pyright: ignore[reportAttributeAccessIssue]  # made here
    for operation in OPERATORS:
        function = getattr(operator, operation, None)
        if function is None:  # div, of Python 2
            continue
        word = operation.strip("_")
        setattr(proxy, f"__{word}__", _recording(function, f"__{word}__"))
        if operation not in UNREFLECTED:
            reflected = _recording_reflected(function, f"__r{word}__")
            setattr(proxy, f"__r{word}__", reflected)


def _recording(function: Callable[..., Any], name: str) -> Callable[..., Proxy]:
    def record(self: Proxy, *others: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (self, *others), {})

    record.__name__ = name
    record.__qualname__ = f"Proxy.{name}"
    return record


def _recording_reflected(
    function: Callable[..., Any], name: str
) -> Callable[[Proxy, Any], Proxy]:
    def record(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    record.__name__ = name
    record.__qualname__ = f"Proxy.{name}"
    return record


UNREFLECTED = frozenset({"eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert"})
"""Operators of `operator` whose reflection is another one, or that take one operand."""
