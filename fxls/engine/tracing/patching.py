"""What tracing replaces while it runs, for all threads, and puts back.

`torch.nn.Module.__call__` and `__getattr__`, and the globals that are wrapped, are
replaced when the first session of the process starts and are what they were when the
last one ends. What stands in for them asks which session the thread is in, so threads
that trace do not see each other, and the others see nothing.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.engine.origins.module_scopes import ScopeSnapshot
from fxls.engine.tracing import current as active
from fxls.engine.tracing.proxy import ARGUMENT_TYPES, Args
from fxls.engine.tracing.wrap import (
    method_recorder_of,
    recorder_of,
    wrapped_globals,
    wrapped_methods,
)

if TYPE_CHECKING:
    from fxls.engine.tracing.proxy import Proxy
    from fxls.engine.tracing.tracer import Tracer

__all__ = ["ModuleCall", "TraceSession", "call_module", "original", "session"]


class TraceSession:
    """One trace: its tracer, and what is recorded while it runs."""

    def __init__(
        self,
        tracer: Tracer,
        autowrapped: frozenset[int],
        *,
        has_own_call: bool,
        has_own_getattr: bool,
        has_own_leaves: bool,
    ) -> None:
        self.tracer = tracer
        self.parameter_proxies: dict[str, Proxy] = {}
        self.recorded: set[int] = set(autowrapped)
        """The ids of the functions whose calls become nodes."""
        self.has_own_call = has_own_call
        """Whether the tracer overrides `call_module`."""
        self.has_own_getattr = has_own_getattr
        """Whether the tracer overrides `getattr`."""
        self._has_own_leaves = has_own_leaves
        """Whether the tracer overrides `is_leaf_module`, or a step of making a node."""
        self._leaves: dict[type, bool] = {}
        self._autowrapped = autowrapped
        self._seen: set[int] = set()
        self._seen_classes: set[type] = set()

    def plain_leaf(self, module: torch.nn.Module, args: Args) -> str | None:
        """The path of a module whose call is one node, every step the engine's own.

        None for any other module, and for values that become more than one node.
        """
        if self._has_own_leaves or not ARGUMENT_TYPES.issuperset(map(type, args)):
            return None
        path = (self.tracer.submodule_paths or {}).get(module)
        return path if path is not None and self.is_leaf(module, path) else None

    def is_leaf(self, module: torch.nn.Module, path: str) -> bool:
        """What the tracer says; asked once for each class when it is the stock one."""
        if self._has_own_leaves:
            return self.tracer.is_leaf_module(module, path)
        kind = type(module)
        known = self._leaves.get(kind)
        if known is None:
            known = self._leaves[kind] = self.tracer.is_leaf_module(module, path)
        return known

    def autowrap(self, namespace: dict[str, Any]) -> None:
        """Replace the autowrapped functions that a namespace holds; once for each."""
        if id(namespace) in self._seen:
            return
        self._seen.add(id(namespace))
        autowrapped = self._autowrapped
        found = [
            name
            for name, value in namespace.items()
            if id(value) in autowrapped and name[0] != "_"
        ]
        if found:
            _replace_globals(namespace, found)

    def autowrap_around(self, module: torch.nn.Module) -> None:
        """The same for the namespace that a module's forward was written in."""
        kind = type(module)
        if "forward" not in module.__dict__:
            if kind in self._seen_classes:
                return
            self._seen_classes.add(kind)
        forward = getattr(module, "forward", module)
        self.autowrap(getattr(forward, "__globals__", {}))


@contextmanager
def session(
    new: TraceSession, modules: list[ModuleType], *, reads_attributes: bool
) -> Generator[None]:
    """A block in which this thread traces; `reads_attributes` replaces __getattr__."""
    with _lock:
        _patched.sessions += 1
        if _patched.call is None:
            _patched.call = torch.nn.Module.__dict__["__call__"]
            torch.nn.Module.__call__ = call_module  # pyright: ignore[reportAttributeAccessIssue]  # replacing it is the point
        if reads_attributes and _patched.getattr is None:
            _replace_getattr()
        for namespace, name in wrapped_globals():
            if name in namespace or name in _BUILTINS:
                _replace_globals(namespace, (name,))
                new.recorded.add(id(_replaced(namespace, name)))
        for kind, name in wrapped_methods:
            _replace_method(kind, name)
        for module in modules:
            new.autowrap(module.__dict__)
    before = active.current.session
    active.current.session = new
    try:
        yield
    finally:
        active.current.session = before
        with _lock:
            _patched.sessions -= 1
            if not _patched.sessions:
                _put_back()


class ModuleCall:
    """A block in which a submodule is called: the tracer's scope and stack say so."""

    __slots__ = ("_outer", "_tracer")

    def __init__(self, tracer: Tracer, module: torch.nn.Module, path: str) -> None:
        kind = type(module)
        tracer.module_stack[_key(tracer, path)] = (path, kind)
        scope = tracer.scope
        self._tracer = tracer
        self._outer = (scope.module_path, scope.module_type)
        scope.module_path = path
        scope.module_type = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_raised: object) -> None:
        self._tracer.module_stack.popitem()
        scope = self._tracer.scope
        scope.module_path, scope.module_type = self._outer


def _key(tracer: Tracer, path: str) -> str:
    """Under which name a call stands in the module stack."""
    calls = tracer.num_calls
    count = calls.get(path, 0)
    calls[path] = count + 1
    return f"{path}@{count}" if count else path


def call_module(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> Any:
    """What a call of a module is while something is traced."""
    session = active.current.session
    original = _patched.call
    if original is None:  # put back between the call's look-up and now
        return module(*args, **kwargs)
    if session is None:
        return original(module, *args, **kwargs)
    session.autowrap_around(module)
    tracer = session.tracer
    if not kwargs and (leaf := session.plain_leaf(module, args)) is not None:
        # Nobody could see the scope, the stack and the trail change, which takes half
        # of the time that such a call costs.
        outer = tracer.module_stack.snapshot  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # a ModuleStack, as no step is overridden
        scope = ScopeSnapshot(outer, _key(tracer, leaf), leaf, type(module))  # pyright: ignore[reportUnknownArgumentType]  # the same
        return tracer.record_leaf(leaf, args, scope, sys._getframe(1))
    trail = tracer.trail
    before = (trail.caller, trail.function)
    trail.caller = trail.here(sys._getframe(1))
    trail.function = None
    try:
        if session.has_own_call:
            forward = functools.partial(original, module)
            return tracer.call_module(module, forward, args, kwargs)
        # What Tracer.call_module does, without its frames: they would end the
        # recursion at two thirds of the depth.
        path = tracer.path_of_module(module)
        with ModuleCall(tracer, module, path):
            if session.is_leaf(module, path):
                return tracer.create_proxy("call_module", path, args, kwargs)
            return original(module, *args, **kwargs)
    finally:
        trail.caller, trail.function = before


def _module_getattr(module: torch.nn.Module, name: str) -> Any:
    original = _patched.getattr
    if original is None:
        return getattr(module, name)
    value = original(module, name)
    session = active.current.session
    if session is None or not (
        session.has_own_getattr or isinstance(value, torch.Tensor)
    ):
        return value  # Tracer.getattr would say the same
    return session.tracer.getattr(name, value, session.parameter_proxies)


for _ours, _torchs in (
    (call_module, torch.nn.Module.__call__),
    (_module_getattr, torch.nn.Module.__getattr__),
):
    functools.update_wrapper(_ours, _torchs)


def _replace_getattr() -> None:
    """Let `_module_getattr` answer for the `__getattr__` of all modules.

    By giving the function that is there another body, where that is possible: to put
    another function into the class makes CPython look at its 350 subclasses, twice for
    each trace, which took a tenth of the time that tracing a ResNet-50 does.
    """
    function = torch.nn.Module.__dict__["__getattr__"]
    if _can_change_body(function):
        _patched.getattr = FunctionType(function.__code__, function.__globals__)
        _patched.getattr_function = function
        function.__defaults__ = (_module_getattr,)
        function.__code__ = _answered.__code__
    else:
        _patched.getattr = function
        torch.nn.Module.__getattr__ = _module_getattr  # pyright: ignore[reportAttributeAccessIssue]  # replacing it is the point


def _put_getattr_back() -> None:
    function, original = _patched.getattr_function, _patched.getattr
    if function is not None:
        function.__code__ = cast("FunctionType", original).__code__
        function.__defaults__ = None
    else:
        torch.nn.Module.__getattr__ = original  # pyright: ignore[reportAttributeAccessIssue]  # as it was
    _patched.getattr = _patched.getattr_function = None


def _can_change_body(function: Any) -> bool:
    """Whether a method is torch's own, and not what another tracer put in its place."""
    return (
        type(function) is FunctionType
        and function.__closure__ is None
        and function.__defaults__ is None
        and function.__code__.co_varnames[: function.__code__.co_argcount]
        == ("self", "name")
    )


def _answered(self: Any, name: str, answer: Any = None) -> Any:
    """The body that `__getattr__` gets, whose globals are torch's."""
    return answer(self, name)


class _Patched:
    """What is replaced at this moment; guarded by `_lock`."""

    def __init__(self) -> None:
        self.sessions = 0
        self.call: Callable[..., Any] | None = None
        self.getattr: Callable[..., Any] | None = None
        self.methods: dict[tuple[type, str], Any] = {}
        """What the class itself had for each replaced method, or `_ABSENT`."""
        self.getattr_function: FunctionType | None = None
        """The function whose body was changed; None when the class has another one."""
        self.globals: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        """By id: the namespace, and the value of each global that is replaced in it;
        `_ABSENT` for a builtin that had no global."""


_lock = threading.RLock()
_patched = _Patched()
_ABSENT = object()
_BUILTINS: Mapping[str, Any] = vars(builtins)


def _replace_globals(namespace: dict[str, Any], names: Sequence[str]) -> None:
    """Let recorders stand in for globals, or for builtins by these names."""
    with _lock:
        _, were = _patched.globals.setdefault(id(namespace), (namespace, {}))
        for name in names:
            if name not in were:
                if name in namespace:
                    were[name] = value = namespace[name]
                else:
                    were[name], value = _ABSENT, _BUILTINS[name]
                namespace[name] = recorder_of(value)


def _replaced(namespace: dict[str, Any], name: str) -> Any:
    """What a global, or the builtin of its name, was when it was replaced."""
    was = _patched.globals[id(namespace)][1][name]
    return _BUILTINS[name] if was is _ABSENT else was


def _replace_method(kind: type, name: str) -> None:
    if (kind, name) not in _patched.methods:
        _patched.methods[kind, name] = kind.__dict__.get(name, _ABSENT)
        setattr(kind, name, method_recorder_of(kind, name))


def original(name: str) -> Any:
    """The function that ``Module.__call__``, or ``__getattr__``, is outside of traces."""
    with _lock:
        if name == "__call__":
            return _patched.call or torch.nn.Module.__dict__[name]
        function = _patched.getattr or torch.nn.Module.__dict__[name]
        # A copy, because a trace changes the body of the function itself.
        return FunctionType(function.__code__, function.__globals__, name)


def _put_back() -> None:
    if _patched.call is not None:
        torch.nn.Module.__call__ = _patched.call
        _patched.call = None
    if _patched.getattr is not None:
        _put_getattr_back()
    for namespace, were in _patched.globals.values():
        for name, was in were.items():
            if was is _ABSENT:
                namespace.pop(name, None)
            else:
                namespace[name] = was
    _patched.globals.clear()
    for (kind, name), method in _patched.methods.items():
        if method is _ABSENT:
            delattr(kind, name)
        else:
            setattr(kind, name, method)
    _patched.methods.clear()
