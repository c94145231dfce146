"""Tracing for example inputs, which answer what a program asks of sizes."""

from __future__ import annotations

import math
import operator
import sys
import types
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from fxls.engine import errors
from fxls.engine.graph import Graph
from fxls.engine.ir.node import Node, map_arg
from fxls.engine.ir.opcodes import Target
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin
from fxls.engine.origins.from_frames import source_frame
from fxls.engine.torch_private import FakeTensorMode, assert_true, pytree
from fxls.engine.tracing import current
from fxls.engine.tracing.concrete_args import ConcreteArgs
from fxls.engine.tracing.lowering import CLASS_OF_TORCH
from fxls.engine.tracing.proxy import Args, Attribute, Kwargs, Proxy
from fxls.engine.tracing.tracer import Tracer

__all__ = ["ExampleTracer"]

_T = TypeVar("_T")


@lasting("fxls.engine")
class ExampleTracer(Tracer):
    """Traces what a program does with example inputs.

    What depends on an input is a node, as for `Tracer`. Where Python itself needs to
    know a value, in a branch, a loop, a slice of a plain tensor or a call of a C
    function, the examples give it, and the graph asserts it: called with inputs for
    which it is another one, the graph raises an AssertionError that names the line.

    Nothing is computed: tensors have no values here, so a branch on what is in one is
    refused, as always. A function that was wrapped is called with such tensors.
    """

    proxy_buffer_attributes = True
    trace_asserts = True

    def __init__(
        self,
        example_inputs: Mapping[str, Any],
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
    ) -> None:
        """The examples are the values of parameters, by name.

        A parameter without one has its default, and a branch on it is refused when it
        has none.
        """
        super().__init__(autowrap_modules, (*autowrap_functions, *_factories()))
        self._autowrap_search.append(torch)  # programs call them there
        self._examples = example_inputs
        self._values: dict[Node, Any] = {}
        self._answered: set[tuple[Node, str]] = set()

    def trace(
        self,
        root: torch.nn.Module | Callable[..., Any],
        concrete_args: ConcreteArgs | None = None,
    ) -> Graph:
        self._mode: Any = FakeTensorMode(allow_non_fake_inputs=True)
        self._values.clear()
        self._answered.clear()
        return super().trace(root, concrete_args)

    def create_node(
        self,
        kind: str,
        target: Target,
        args: Args,
        kwargs: Kwargs,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        self._values[node] = self._value_of(node)
        return node

    def proxy(self, node: Node) -> Proxy:
        return _ExampleProxy(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        value = self._value(obj)
        if not _is_known(value):
            return super().to_bool(obj)
        answer = bool(value)
        if self._is_new(obj, "bool"):
            condition = obj
            if not answer:
                condition = self.create_proxy(
                    "call_function", operator.not_, (obj,), {}
                )
            self._assert(condition, answer)
        return answer

    def iter(self, obj: Proxy) -> Iterator[Any]:
        value, items = self._value(obj), cast("Any", obj)
        if isinstance(value, tuple | list | torch.Tensor):
            return iter([items[i] for i in range(self.length(obj))])
        if isinstance(value, Mapping):
            return iter(self.keys(obj))
        if isinstance(value, ValuesView | ItemsView | KeysView):
            items = self.create_proxy("call_function", list, (obj,), {})
            return self.iter(items)
        return super().iter(obj)

    def keys(self, obj: Proxy) -> Any:
        """The keys of a dict, which are the examples' own; else a recorded call."""
        value = self._value(obj)
        if not isinstance(value, Mapping):
            return super().keys(obj)
        keys = list(cast("Mapping[Any, Any]", value))
        if self._is_new(obj, "keys"):
            found = self.create_proxy("call_function", list, (obj,), {})
            self._assert(cast("Any", found) == keys, keys)
        return keys

    def length(self, obj: Proxy) -> int:
        """What `len` gives; raises LengthError when it is not known."""
        value = self._value(obj)
        if value is _UNKNOWN or not hasattr(value, "__len__"):
            raise errors.LengthError(frames=self._asked())
        answer = len(value)
        if self._is_new(obj, "len"):
            length = self.create_proxy("call_function", len, (obj,), {})
            self._assert(cast("Any", length) == answer, answer)
        return answer

    def number(self, obj: Proxy, convert: Callable[[Any], _T]) -> _T:
        """What `convert` makes of a value; raises ValueNeededError for an unknown one."""
        value = self._value(obj)
        if not _is_known(value):
            raise errors.ValueNeededError(
                "Python needs a number, and what the tensor holds is not known",
                frames=self._asked(),
            )
        answer = convert(value)
        self._assert_equal(obj, value)
        return answer

    def text(self, obj: Proxy, spec: str) -> str:
        """What `format` gives: of a plain value that value, and else the proxy's name."""
        value = self._value(obj)
        if not _is_plain(value):
            return format(repr(obj), spec)
        self._assert_equal(obj, value)
        return format(value, spec)

    def attribute(self, obj: Proxy, name: str) -> Any:
        """What ``obj.name`` gives: text as it is, as no function of torch takes a proxy."""
        found = _ExampleAttribute(obj, name)
        whole = self._value(obj)
        if whole is _UNKNOWN or (value := getattr(whole, name, found)) is found:
            return found
        if value is None:
            return self.part(found)
        if type(value) is str:
            self._assert_equal(found, value)
            return value
        return found

    def hashed(self, obj: Proxy) -> int | None:
        """The hash of a value that sets and dicts compare; None for any other."""
        value = self._value(obj)
        if value is _UNKNOWN:
            raise errors.ValueNeededError(
                "A set or a dict needs a value, and this one is not known",
                frames=self._asked(),
            )
        if not _is_plain(value):
            return None
        self._assert_equal(obj, value)
        return hash(value)

    def known_class(self, obj: Proxy) -> type | None:
        """The class that `isinstance` asks for; None for what torch.fx answers."""
        value: object = self._value(obj)
        return value.__class__ if _is_plain(value) else None

    def part(self, obj: Proxy) -> Proxy | None:
        """A part of a value: None where it is that, for which Python asks by ``is``."""
        if self._value(obj) is not None:
            return obj
        if self._is_new(obj, "none"):
            is_none = self.create_proxy("call_function", operator.is_, (obj, None), {})
            self._assert(is_none, None)
        return None

    def _assert_equal(self, obj: Proxy, value: object) -> None:
        if self._is_new(obj, "value"):
            self._assert(cast("Any", obj) == value, value)

    def _assert(self, condition: object, answer: object) -> None:
        place = origin.innermost_place(self._asked())
        where = ""
        if place is not None:
            where = f" at {Path(place.path).name}:{place.span.start.line + 1}"
        text = f"The inputs that this was traced for give {answer}{where}"
        self.create_proxy("call_function", assert_true, (condition, text), {})

    def _asked(self) -> origin.RawOrigin | None:
        return self._here(source_frame(sys._getframe(1)))

    def _is_new(self, obj: Proxy, question: str) -> bool:
        """Whether nobody has asked this before."""
        key = (obj.node, question)
        if key in self._answered:
            return False
        self._answered.add(key)
        return True

    def _value(self, obj: Proxy) -> Any:
        return self._values.get(obj.node, _UNKNOWN)

    def _value_of(self, node: Node) -> Any:
        """What a new node is for the examples; `_UNKNOWN` when that cannot be told."""
        if node.op == "output":
            return None
        session = current.current.session
        current.current.session = None  # what is called here is no part of the trace
        try:
            with self._mode:
                return self._evaluated(node)
        except _RAISED:  # by torch or by the program, which says it when it runs
            return _UNKNOWN
        finally:
            current.current.session = session

    def _evaluated(self, node: Node) -> Any:
        if node.op == "placeholder":
            return self._faked(self._example(str(node.target), node.args))
        if node.op == "get_attr":
            return self._faked(operator.attrgetter(str(node.target))(self.root))
        args, kwargs = cast(
            "tuple[Any, Any]",
            map_arg(cast("Any", (node.args, dict(node.kwargs))), self._known),
        )
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        module = self.root.get_submodule(str(node.target))
        # With its own tensors a module may change them, as BatchNorm counts its calls.
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return torch.func.functional_call(module, self._faked(tensors), args, kwargs)

    def _example(self, target: str, default: tuple[Any, ...]) -> Any:
        """The value of a parameter; `concrete_args` appends a number to its name."""
        name = target.lstrip("*")
        if name not in self._examples:
            name = name.rpartition("_")[0]
        if name in self._examples:
            return self._examples[name]
        return default[0] if default else _UNKNOWN

    def _known(self, node: Node) -> Any:
        value = self._values.get(node, _UNKNOWN)
        if value is _UNKNOWN:
            raise LookupError(node)
        return value

    def _faked(self, value: Any) -> Any:
        def faked(leaf: Any) -> Any:
            is_tensor = isinstance(leaf, torch.Tensor)
            return self._mode.from_tensor(leaf) if is_tensor else leaf

        return pytree.tree_map(faked, value)


class _Answering:
    """What Python asks a value for, and its tracer answers."""

    tracer: ExampleTracer

    def __len__(self) -> int:
        return self.tracer.length(cast("Proxy", self))

    def __index__(self) -> int:
        return self.tracer.number(cast("Proxy", self), operator.index)

    def __int__(self) -> int:
        return self.tracer.number(cast("Proxy", self), int)

    def __float__(self) -> float:
        return self.tracer.number(cast("Proxy", self), float)

    def __hash__(self) -> int:
        found = self.tracer.hashed(cast("Proxy", self))
        return object.__hash__(self) if found is None else found

    def __format__(self, format_spec: str) -> str:
        return self.tracer.text(cast("Proxy", self), format_spec)

    def __getattr__(self, k: str) -> Any:
        return self.tracer.attribute(cast("Proxy", self), k)

    def __getitem__(self, k: Any) -> Any:
        parent: Any = super()
        return self.tracer.part(parent.__getitem__(k))

    if not TYPE_CHECKING:  # where `__class__` has a setter

        @property
        def __class__(self) -> type:
            """That of a number or a size, as ``isinstance(n, int)`` decides a branch."""
            return self.tracer.known_class(self) or CLASS_OF_TORCH


class _ExampleProxy(_Answering, Proxy):
    """A value whose size and kind an example tells."""


class _ExampleAttribute(_Answering, Attribute):
    """The same for ``value.name``."""


# Errors of Python name the class of what they refuse.
_ExampleProxy.__name__ = _ExampleProxy.__qualname__ = "Proxy"
_ExampleAttribute.__name__ = _ExampleAttribute.__qualname__ = "Attribute"


class _Unknown:
    """What stands for a value that nothing tells."""


_UNKNOWN = _Unknown()

_RAISED = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError),
    *(TypeError, ValueError),
)

_PLAIN = (int, bool, float, str, torch.dtype, torch.device, torch.layout)


def _is_plain(value: object) -> bool:
    """Whether a value is equal to any other one that is written alike."""
    if isinstance(value, tuple):
        return all(map(_is_plain, cast("tuple[object, ...]", value)))
    return type(value) in _PLAIN


def _is_known(value: object) -> bool:
    """Whether Python could be told what a value is: there is nothing in a tensor."""
    return value is not _UNKNOWN and not isinstance(value, torch.Tensor)


def _factories() -> tuple[Callable[..., Any], ...]:
    """Functions of torch that take sizes or a dtype, and do not report to a proxy."""
    module: Any = torch
    ignored: Any = module.overrides.get_ignored_functions()
    made = [
        value
        for name, value in vars(torch).items()
        if name[0] != "_" and type(value) is _BUILTIN and value in ignored
    ]
    return (*made, torch.finfo, torch.iinfo)


_BUILTIN = types.BuiltinFunctionType
