"""The inputs of a traced function: its placeholders, and values fixed beforehand."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from fxls.engine import errors
from fxls.engine.code.pytree_codegen import PyTreeCodeGen, PyTreeInfo
from fxls.engine.lasting import lasting
from fxls.engine.torch_private import assert_true, pytree
from fxls.engine.tracing.lowering import ATOMS
from fxls.engine.tracing.wrap import wrap

if TYPE_CHECKING:
    from fxls.engine.tracing.proxy import Proxy
    from fxls.engine.tracing.tracer import Tracer

__all__ = ["PH", "ConcreteArgs", "PHBase", "PHWithMeta", "by_position", "inputs"]

ConcreteArgs: TypeAlias = dict[str, Any] | tuple[Any, ...]


@lasting("fxls.engine._symbolic_trace")
class PHBase:
    """Stands in ``concrete_args`` for a value that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()
"""The input that nothing more is said of."""


@lasting("fxls.engine._symbolic_trace")
class PHWithMeta(PHBase):
    """An input with attributes, which its placeholder node gets as well."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def inputs(
    tracer: Tracer,
    function: Callable[..., Any],
    concrete_args: ConcreteArgs | None,
    *,
    is_module: bool,
) -> tuple[Callable[..., Any], list[Any]]:
    """Append the placeholders; returns what to call, and with which values.

    The function that is returned takes every value by position, also those of ``*args``
    and keyword-only parameters.
    """
    # A decorated function has the parameters of the one that it wraps.
    written = inspect.unwrap(function)
    assert isinstance(written, FunctionType), f"{written!r} is not a Python function"
    code = written.__code__
    named = code.co_argcount + code.co_kwonlyargcount
    takes_rest = bool(code.co_flags & _REST)
    if is_module and named == 0:
        raise errors.SelfExpansionError(frames=(code, None, None))
    values: list[Any] = [tracer.root] if is_module else []
    names = list(code.co_varnames[len(values) : named])

    if isinstance(concrete_args, tuple):
        if concrete_args and takes_rest and named == 1:
            values += _numbered(tracer, concrete_args)
            return function, values
        if len(names) != len(concrete_args):
            raise errors.ConcreteArgumentsError(
                f"Tracing expected {len(names)} arguments but got"
                f" {len(concrete_args)} concrete arguments",
                frames=(code, None, None),
            )
        concrete_args = dict(zip(names, concrete_args, strict=True))

    defaults = _defaults(written)
    fixed = concrete_args or {}
    values += [_value(tracer, written, name, fixed, defaults) for name in names]
    if function is not written:
        if code.co_kwonlyargcount or takes_rest:
            function = _spread(function, written)
    elif code.co_kwonlyargcount or takes_rest:
        rest = iter(code.co_varnames[named:])
        if code.co_flags & inspect.CO_VARARGS:
            values.append(_value(tracer, written, "*" + next(rest), fixed, {}))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            values.append(_value(tracer, written, "**" + next(rest), fixed, {}))
        function = by_position(function, len(values))
    return _flattened(tracer, function, values, list(code.co_varnames[:named]))


_REST = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _value(
    tracer: Tracer,
    function: FunctionType,
    name: str,
    fixed: dict[str, Any],
    defaults: dict[str, Any],
) -> Any:
    """The value that a parameter has while tracing; appends its placeholders."""
    default = (defaults[name],) if name in defaults else ()
    plain = name.lstrip("*")
    with tracer.placing((function.__code__, plain, None)):
        if name not in fixed:
            annotation = function.__annotations__.get(name)
            return tracer.create_proxy(
                "placeholder", name, default, {}, type_expr=annotation
            )
        leaves, spec = pytree.tree_flatten(fixed[name])
        new = [
            _leaf(tracer, name, f"{name}_{n}", leaf, default)
            for n, leaf in enumerate(leaves, 1)
        ]
        return pytree.tree_unflatten(new, spec)


def _leaf(
    tracer: Tracer, name: str, placeholder: str, leaf: Any, default: tuple[Any, ...]
) -> Any:
    """One value of a fixed parameter: an input, or a value that is checked to hold."""
    proxy = tracer.create_proxy("placeholder", placeholder, default, {})
    if isinstance(leaf, PHBase):
        _hand_over(leaf, proxy)
        return proxy
    text = f"{name} has been specialized to have value {leaf} but got another value"
    if leaf is None:
        _assert_is_none(proxy, text)  # which is recorded, as it is wrapped
    elif type(leaf) in _CHECKED:
        assert_true(proxy == leaf, text)
    else:
        warnings.warn(
            f"Was not able to add assertion to guarantee correct input {name}: values"
            f" of {type(leaf).__name__} are not compared. Call the result with the same"
            " value only",
            stacklevel=2,
        )
    return leaf


_CHECKED = ATOMS - {type(None), type(...)}
"""Types whose values a graph can compare with what it is called with."""


@wrap
@lasting("fxls.engine._symbolic_trace")
def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _numbered(tracer: Tracer, values: Sequence[Any]) -> list[Any]:
    """A placeholder for each value that is meant for ``*args``."""
    proxies: list[Any] = []
    for n, value in enumerate(values):
        proxy = tracer.create_proxy("placeholder", f"input_{n}", (), {})
        _hand_over(value, proxy)
        proxies.append(proxy)
    return proxies


def _hand_over(placeholder: Any, proxy: Proxy) -> None:
    """Give the node of a placeholder what a program noted about it on its PH."""
    if not isinstance(placeholder, PHBase) or placeholder is PH:
        return
    for name in dir(placeholder):
        if not name.startswith("__") and not hasattr(proxy.node, name):
            value = getattr(placeholder, name)
            if not callable(value):
                setattr(proxy.node, name, value)


def _defaults(function: FunctionType) -> dict[str, Any]:
    """The default of each parameter that has one."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {
        **dict(zip(names, defaults, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def by_position(function: FunctionType, count: int) -> FunctionType:
    """The function with all its parameters, ``*args`` and ``**kwargs`` too, positional.

    A proxy can stand for ``args`` as a whole, but could not be spread over a call.
    """
    code: CodeType = function.__code__.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=function.__code__.co_flags & ~_REST,
    )
    return FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def _spread(function: Callable[..., Any], written: FunctionType) -> Callable[..., Any]:
    """The function behind a wrapper, called by position.

    - The wrapper gets by name what has a default, where it takes names: it may look for
      such arguments there, and fill in those that it does not find.
    - A proxy cannot be spread over the wrapper's call: the function sees no ``*args``
      and no ``**kwargs``, so the graph takes none, and refuses a caller who gives some.
    """
    code = written.__code__
    count = code.co_argcount
    if getattr(function, "__code__", code).co_flags & inspect.CO_VARKEYWORDS:
        count = max(code.co_posonlyargcount, count - len(written.__defaults__ or ()))
    by_name = code.co_varnames[count : code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        by_position = len(values) - len(by_name)
        named = zip(by_name, values[by_position:], strict=True)
        return function(*values[:by_position], **dict(named))

    return call


def _flattened(
    tracer: Tracer, function: Callable[..., Any], values: list[Any], names: list[str]
) -> tuple[Callable[..., Any], list[Any]]:
    """When a fixed value is nested: a function of the leaves, with code to match."""
    leaves, spec = pytree.tree_flatten(tuple(values))
    if len(leaves) == len(values) and all(c.is_leaf() for c in spec.children()):
        return function, values
    codegen = PyTreeCodeGen(PyTreeInfo(names, spec, None))
    tracer.graph.set_codegen(codegen)

    def of_leaves(*args: Any) -> Any:
        result = function(*pytree.tree_unflatten(list(args), spec))
        flat, out_spec = pytree.tree_flatten(result)
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
        return flat

    # What is returned is annotated by nobody: it is a list here, and nested outside.
    of_leaves.__annotations__.clear()
    return of_leaves, leaves
