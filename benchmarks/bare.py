# pyright: reportPrivateUsage=false
"""The barest engine: what a trace, a graph and its nodes cost before anything is checked.

A value of the traced program is its own node. It knows its operation, target, arguments,
name and the instruction that made it, and stands in a list; nobody knows its users.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from torch import nn

__all__ = ["Guarded", "Step", "Trace", "chain", "copies"]


class Step:
    """A node: an object with a slot for each thing that FX says a node has."""

    __slots__ = (
        "args",
        "code",
        "erased",
        "graph",
        "key",
        "kwargs",
        "line",
        "meta",
        "name",
        "next",
        "offset",
        "op",
        "prev",
        "scope",
        "target",
        "users",
    )

    graph: Any
    op: str
    target: Any
    args: tuple[Any, ...]
    name: str
    key: int
    prev: Step
    next: Step
    users: Any

    def __lt__(self, other: Step) -> bool:
        return self.key < other.key

    def put_before(self, place: Step) -> None:
        after, before = self.next, self.prev
        before.next, after.prev = after, before
        before = place.prev
        self.key = (before.key + place.key) >> 1
        self.prev, self.next = before, place
        before.next = place.prev = self

    @property
    def inputs(self) -> list[Step]:
        return list(self.args)


class Guarded:
    """A node that could see when somebody assigns to it."""

    __slots__ = ("_args", "_op", "_target", "users")

    def __init__(self, step: Step) -> None:
        self._op, self._target, self._args = step.op, step.target, step.args
        self.users = step.users

    op = property(operator.attrgetter("_op"))
    target = property(operator.attrgetter("_target"))
    args = property(operator.attrgetter("_args"))


def chain(count: int) -> list[Step]:
    """Linked nodes, of which each uses the one before it; every other one uses three."""
    steps: list[Step] = []
    last = Step()
    for at in range(count):
        step = Step.__new__(Step)
        step.graph = steps
        step.op = "call_function"
        step.target = chain
        step.args = (last, last, last) if at % 2 else (last,) if at else ()
        step.kwargs = step.line = step.meta = step.scope = step.users = None
        step.name = f"step_{at}"
        step.erased = False
        step.key = at << 20
        step.prev = last
        last.next = last.users = step
        steps.append(step)
        last = step
    return steps


def copies(rows: Sequence[tuple[Any, tuple[Any, ...]]]) -> dict[Any, Step]:
    """A linked copy of each node, which uses the copies of what that uses."""
    made: dict[Any, Step] = {}
    last = Step()
    gc.disable()
    for at, (old, inputs) in enumerate(rows):
        step = Step.__new__(Step)
        step.graph = made
        step.op = old.op
        step.target = old.target
        step.args = args = tuple([made[used] for used in inputs])
        step.kwargs = step.line = step.meta = step.scope = step.users = None
        for used in args:
            used.users = step
        step.name = old.name
        step.erased = False
        step.key = at << 20
        step.prev = last
        last.next = step
        made[old] = last = step
    gc.enable()
    return made


class Value:
    """What a traced program computes with; each operation makes another one."""

    __slots__ = ("args", "kwargs", "name", "offset", "target")

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None
    name: str
    offset: int

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        _types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Value:
        return _record(function, args, kwargs)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        return functools.partial(_record_method, name, self)

    def __getitem__(self, key: Any) -> Value:
        return _record(operator.getitem, (self, key), None)

    def __iter__(self) -> Iterator[Value]:
        return iter([self[part] for part in range(_parts)])


def _recording(function: Callable[..., Any]) -> Callable[..., Value]:
    return lambda *args: _record(function, args, None)


def _recording_reflected(function: Callable[..., Any]) -> Callable[..., Value]:
    def record(one: Value, other: Any) -> Value:
        return _record(function, (other, one), None)

    return record


for _operation in ("add", "sub", "mul", "truediv", "floordiv"):
    _function = getattr(operator, _operation)
    setattr(Value, f"__{_operation}__", _recording(_function))
    setattr(Value, f"__r{_operation}__", _recording_reflected(_function))


class Trace:
    """One run of a model on such values; the model is of no use for anything else then."""

    def __init__(self, model: nn.Module, *, inputs: int, parts: int) -> None:
        """`parts` says how many a value has that the model unpacks."""
        self._model = model
        self._inputs = inputs
        self._parts = parts
        named = cast("Iterable[tuple[str, nn.Module]]", model.named_modules())
        self._leaves = {
            module: path
            for path, module in named
            if type(module).__module__.startswith("torch.nn")
            and not isinstance(module, nn.Sequential | nn.ModuleList)
        }
        for module in model.modules():
            if module not in self._leaves:
                for name in module._parameters:
                    module._parameters[name] = cast(
                        "Any", _value("get_attr", name, (), None, 0)
                    )

    def run(self) -> list[Value]:
        """The values that the model makes, in order."""
        global _steps, _leaves, _parts
        _steps, _leaves, _parts = [], self._leaves, self._parts
        called = nn.Module.__call__
        nn.Module.__call__ = _call  # pyright: ignore[reportAttributeAccessIssue]  # as a tracer does
        gc.disable()
        try:
            inputs = [
                _value("placeholder", "x", (), None, 0) for _ in range(self._inputs)
            ]
            self._model.forward(*inputs)
        finally:
            gc.enable()
            nn.Module.__call__ = called
        return _steps


_steps: list[Value] = []
_leaves: dict[nn.Module, str] = {}
_parts = 0


def _call(module: nn.Module, *args: Any) -> Any:
    path = _leaves.get(module)
    if path is None:
        return module.forward(*args)
    return _value(path, path, args, None, sys._getframe(1).f_lasti)


def _record(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Value:
    return _value(target, target.__name__, args, kwargs, sys._getframe(2).f_lasti)


def _record_method(name: str, *args: Any, **kwargs: Any) -> Value:
    return _value(name, name, args, kwargs, sys._getframe(1).f_lasti)


def _value(
    target: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    offset: int,
) -> Value:
    value = Value.__new__(Value)
    value.target = target
    value.args = args
    value.kwargs = kwargs
    value.name = f"{name}_{len(_steps)}"
    value.offset = offset
    _steps.append(value)
    return value
