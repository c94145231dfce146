"""What a tracer that a program has written itself replaces while it runs."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, Union

from fxls.engine.tracing import patching, wrap
from fxls.engine.tracing.concrete_args import by_position as _patch_function
from fxls.engine.tracing.current import is_fx_tracing
from fxls.engine.tracing.lowering import proxies_in
from fxls.engine.tracing.members import CONSTANTS
from fxls.engine.tracing.proxyable import ProxyableClassMeta
from fxls.engine.tracing.wrap import recorder_of as _create_wrapped_func

__all__ = [
    "HAS_VARSTUFF",
    "_ConstantAttributeType",
    "_Patcher",
    "_autowrap_check",
    "_create_wrapped_func",
    "_find_proxy",
    "_orig_module_call",
    "_orig_module_getattr",
    "_patch_function",
    "_patch_wrapped_functions",
    "_wrapped_fns_to_patch",
    "_wrapped_methods_to_patch",
]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_ConstantAttributeType: Any = Union[CONSTANTS]  # noqa: UP007 - a tuple of them
_wrapped_fns_to_patch = wrap.wrapped_functions
_wrapped_methods_to_patch = wrap.wrapped_methods
_orig_module_call: Any = patching.original("__call__")
_orig_module_getattr: Any = patching.original("__getattr__")


class _Patcher:
    """A block at whose end every replaced function is in its place again."""

    def __init__(self) -> None:
        self.visited = set[int]()
        self._undo: list[Callable[[], object]] = []

    def patch(
        self,
        frame_dict: dict[str, Any],
        name: str,
        new_fn: Callable[..., Any],
        deduplicate: bool = True,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        """Replace a global, or a builtin that it then hides; once, if deduplicated."""
        vars(new_fn)[_MARK] = deduplicate
        if name not in frame_dict:
            if not hasattr(builtins, name):
                raise KeyError(f"there is no global {name!r} to replace")
            self._undo.append(functools.partial(frame_dict.pop, name, None))
        elif _is_replaced(frame_dict[name]):
            return
        else:
            before = frame_dict[name]
            self._undo.append(functools.partial(frame_dict.update, {name: before}))
        frame_dict[name] = new_fn

    def patch_method(
        self,
        cls: type,
        name: str,
        new_fn: Callable[..., Any],
        deduplicate: bool = True,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        """Replace a method of a class; once, if deduplicated."""
        vars(new_fn)[_MARK] = deduplicate
        before = getattr(cls, name)
        if _is_replaced(before):
            return
        self._undo.append(functools.partial(setattr, cls, name, before))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether this object is seen for the first time."""
        seen = id(thing) in self.visited
        self.visited.add(id(thing))
        return not seen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        while self._undo:
            self._undo.pop()()
        self.visited.clear()


def _autowrap_check(
    patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]
) -> None:
    """Let calls of some functions be recorded, where a namespace holds them."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Let calls of all wrapped functions and methods be recorded."""
    for namespace, name in wrap.wrapped_globals():
        if name in namespace or hasattr(builtins, name):
            function: Any = namespace.get(name, getattr(builtins, name, None))
            patcher.patch(namespace, name, _create_wrapped_func(function))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, wrap.method_recorder_of(cls, name))


def _find_proxy(*objects_to_search: Any) -> Any:
    """The first proxy in some values; None when there is none."""
    return next(proxies_in(objects_to_search), None)


def _is_replaced(function: Any) -> bool:
    return bool(getattr(function, _MARK, False))


_MARK = "__fx_already_patched"


def _classes(of: type) -> Iterator[type]:
    for one in type.__subclasses__(of):
        yield one
        yield from _classes(one)


def __getattr__(name: str) -> Any:
    """What is another value at another moment."""
    if name == "_is_fx_tracing_flag":
        return is_fx_tracing()
    if name == "_proxyable_classes":
        kinds = _classes(object)
        return {kind: None for kind in kinds if isinstance(kind, ProxyableClassMeta)}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
