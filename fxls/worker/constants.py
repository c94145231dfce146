"""What a call gives a model besides tensors, and a trace in which that is fixed."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.engine import Node, Proxy, Tracer
from fxls.engine.torch_private import assert_true
from fxls.engine.tracing.concrete_args import ConcreteArgs
from fxls.engine.tracing.lowering import ATOMS

if TYPE_CHECKING:
    from fxls.worker.evaluate import Model

__all__ = ["Fixed", "constants", "examples", "is_number"]


def constants(model: Model) -> dict[str, object]:
    """The parameters whose values hold no tensor in the call of an entry.

    Those that the call leaves out have their defaults; an entry without a call gives
    what has no default, and nothing else. Parameters that no code reads are left out.
    ``*args`` and ``**kwargs`` are always here, because a placeholder could be neither
    spread over a call nor asked for what is in it.
    """
    forward = _forward(model)
    bound = _bound(model)
    if bound is None:
        return {}
    parameters = bound.signature.parameters
    written = inspect.unwrap(forward)
    code: CodeType | None = getattr(written, "__code__", None)
    return {
        name: value
        for name, value in bound.arguments.items()
        if (parameters[name].kind in _REST or not _holds_tensor(value))
        and (code is None or _reads(code, name))
    }


def examples(model: Model) -> dict[str, object]:
    """What the call of an entry gives for each parameter, defaults included."""
    bound = _bound(model)
    return {} if bound is None else dict(bound.arguments)


def _forward(model: Model) -> Callable[..., Any]:
    root = model.root
    return root.forward if isinstance(root, torch.nn.Module) else root


def _bound(model: Model) -> inspect.BoundArguments | None:
    """The arguments of the call; None for a call that does not fit the parameters.

    That is said when the graph is run on the inputs.
    """
    signature = inspect.signature(_forward(model))
    try:
        if model.inputs is None:
            bound = signature.bind_partial()
        else:
            bound = signature.bind(*model.inputs.args, **model.inputs.kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound


_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


class Fixed(Tracer):
    """Traces for the values that some parameters have."""

    values: Mapping[str, object]
    """What the program was given for each of them; nodes stand for tensors in it."""
    count_of_inputs: int
    """How many nodes, from the first one, are inputs and what is asserted of them."""

    def __init__(self, fixed: Mapping[str, object]) -> None:
        super().__init__()
        self._fixed = fixed

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,  # noqa: FBT001  # FX's signature
        concrete_args: ConcreteArgs | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        assert concrete_args is None, "what is fixed is said when the tracer is made"
        # A container would be taken apart into an input for each value in it.
        atoms = {n: value for n, value in self._fixed.items() if type(value) in ATOMS}
        function, arguments = super().create_args_for_root(root_fn, is_module, atoms)
        written = cast(FunctionType, inspect.unwrap(root_fn))
        names = written.__code__.co_varnames[1 if is_module else 0 :]
        # So that the graph is called by the model's own names. As FX does, the engine
        # numbers an input that has a value.
        for name, node in zip(
            names, self.graph.find_nodes(op="placeholder"), strict=False
        ):
            if name in atoms:
                node.target = name
                node.name = name
        given = [self._given(written, argument) for argument in arguments]
        self.values = {**atoms, **dict(filter(None, (pair for _, pair in given)))}
        self.count_of_inputs = len(self.graph.nodes)
        return function, [argument for argument, _ in given]

    def _given(
        self, function: FunctionType, argument: object
    ) -> tuple[object, tuple[str, object] | None]:
        """What the program gets for an input, and the same with nodes for its name."""
        if not isinstance(argument, Proxy):
            return argument, None
        name = str(argument.node.target).lstrip("*")
        if name not in self._fixed:
            return argument, None
        value = self._fixed[name]
        with self.placing((function.__code__, name, None)):
            if _is_plain(value) and not str(argument.node.target).startswith("*"):
                said = f"{name} has been specialized to have value {value} but got another value"
                assert_true(cast(Any, argument == value), said)
            copied = _with_inputs(value, argument)
        return copied, (name, _with_nodes(copied))


def _with_inputs(value: object, source: Proxy) -> object:
    """A copy of a constant, which the program may change; tensors are those of `source`."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        return source
    if kind is tuple or kind is list:
        parts = enumerate(cast(list[object], value))
        return cast(type[list[object]], kind)([_part(p, source, n) for n, p in parts])
    if kind is dict:
        items = cast(dict[Any, object], value)
        return {key: _part(part, source, key) for key, part in items.items()}
    return value


def _part(part: object, source: Proxy, key: object) -> object:
    inside = cast(Any, source)[key] if _holds_tensor(part) else source
    return _with_inputs(part, inside)


def _with_nodes(value: object) -> object:
    kind = type(value)
    if isinstance(value, Proxy):
        return value.node
    if kind is tuple or kind is list:
        parts = map(_with_nodes, cast(list[object], value))
        return cast(type[list[object]], kind)(parts)
    if kind is dict:
        items = cast(dict[object, object], value)
        return {key: _with_nodes(part) for key, part in items.items()}
    return value


def _is_plain(value: object) -> bool:
    """Whether a graph can compare a value with what it is called with."""
    kind = type(value)
    if kind is tuple or kind is list:
        return all(map(_is_plain, cast(list[object], value)))
    if kind is dict:
        return all(map(_is_plain, cast(dict[object, object], value).values()))
    return kind in ATOMS


def _holds_tensor(value: object, depth: int = 8) -> bool:
    """Whether there is a tensor in a value, or what could be one; when in doubt, yes."""
    if value is None or type(value) in ATOMS or isinstance(value, _NONE_INSIDE):
        return False
    if depth == 0 or isinstance(value, _TENSORS) or hasattr(value, "__array__"):
        return True
    if isinstance(value, tuple | list | set | frozenset):
        parts = list(cast(list[object], value))
    elif isinstance(value, dict):
        parts = list(cast(dict[object, object], value).values())
    else:
        slots = [
            getattr(value, name, None)
            for base in type(value).__mro__
            for name in _names(getattr(base, "__slots__", ()))
        ]
        parts = [*getattr(value, "__dict__", {}).values(), *slots]
    return any(_holds_tensor(part, depth - 1) for part in parts)


def _names(slots: str | tuple[str, ...]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


_TENSORS = (torch.Tensor, torch.nn.Module, Node, Proxy)
_NONE_INSIDE = (str, bytes, int, float, complex, type, FunctionType, ModuleType)


def _reads(code: CodeType, name: str) -> bool:
    """Whether code reads one of its parameters."""
    if name in code.co_cellvars or "locals" in code.co_names:
        return True
    loads = [
        step.argval for step in dis.get_instructions(code) if "LOAD" in step.opname
    ]
    # From Python 3.13 on, one step may load two.
    return name in loads or any(name in one for one in loads if type(one) is tuple)
