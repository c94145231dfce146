"""Functions that are recorded as one call: `wrap`, and what stands in for them."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from fxls.engine.tracing import current as active
from fxls.engine.tracing.lowering import proxies_in
from fxls.engine.tracing.torch_wraps import wrapped_for_torch

__all__ = [
    "function_behind",
    "method_recorder_of",
    "recorder_of",
    "wrap",
    "wrapped_functions",
    "wrapped_globals",
    "wrapped_methods",
]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def wrap(fn_or_name: F) -> F: ...
@overload
def wrap(fn_or_name: str) -> str: ...
def wrap(fn_or_name: Callable[..., Any] | str) -> Callable[..., Any] | str:
    """Record calls of a function as one node each, where they have a traced argument.

    Say it at the top level of the module that calls the function, with the function or
    the name by which it is called there; or as a decorator of the function.

    >>> wrap("len")
    """
    if isinstance(fn_or_name, str):
        name = fn_or_name
    else:
        name = getattr(fn_or_name, "__name__", None)
    if name is None:
        raise RuntimeError(
            "Unsupported type for global function! wrap takes a function or the name"
            f" of one, not {fn_or_name!r}"
        )
    caller = sys._getframe(1)
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError(
            "wrap must be called at the top level of a module: it is said of a global"
            " name, which code inside a function could not rely on"
        )
    wrapped_functions[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def wrapped_globals() -> Iterator[tuple[dict[str, Any], str]]:
    """Every global that was wrapped, as its namespace and its name."""
    for (_, name), namespace in list(wrapped_functions.items()):
        yield namespace, name
    for namespace, name in wrapped_for_torch():
        if (id(namespace), name) not in wrapped_functions:
            yield namespace, name


def recorder_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in for a wrapped function while something is traced.

    It records the call when an argument is traced, and calls the function otherwise;
    so it does for a thread that traces without having the function wrapped.
    """
    known = _recorders.get(id(function))
    if known is not None:
        return known

    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None)
        if proxy is None or not active.is_recorded(function):
            return function(*args, **kwargs)
        call = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        call.node.meta["is_wrapped"] = True
        call.node.graph._may_wrap_torch = True
        return call

    record.__dict__[_STANDS_FOR] = function
    if isinstance(function, types.BuiltinFunctionType):
        _recorders[id(function)] = record
    return record


def method_recorder_of(kind: type, name: str) -> Callable[..., Any]:
    """What stands in for a method while something is traced, as for a function."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return record


def function_behind(value: Any) -> Any:
    """The function that a recorder stands in for; any other value as it is."""
    return getattr(value, "__dict__", {}).get(_STANDS_FOR, value)


_STANDS_FOR = "_fxls_stands_for"

wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}
"""Namespaces by their id and the name that is wrapped in them."""
wrapped_methods: list[tuple[type, str]] = []
"""Methods whose calls are recorded as well: programs append class and name."""

_recorders: dict[int, Callable[..., Any]] = {}
"""Of builtin functions, which live as long as the process: math has fifty, and each
trace stands in for all of them."""
