"""The symbolic tracer: runs a module or function on proxies and keeps what it does."""

from __future__ import annotations

import copy
import inspect
import math
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, cast

import torch

from fxls.engine import errors
from fxls.engine.graph import Graph
from fxls.engine.ir import gc_pause
from fxls.engine.ir.arguments import Argument
from fxls.engine.ir.node import Node
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin
from fxls.engine.origins.from_frames import FrameOrigins, is_source
from fxls.engine.origins.module_scopes import ModuleStack, Scope
from fxls.engine.origins.resolve import RawOrigin
from fxls.engine.torch_private import is_opaque_reference_type, pytree
from fxls.engine.tracing import patching
from fxls.engine.tracing.concrete_args import ConcreteArgs, inputs
from fxls.engine.tracing.lowering import ATOMS, node_of
from fxls.engine.tracing.members import CONSTANTS, Members
from fxls.engine.tracing.parameter_proxy import ParameterProxy
from fxls.engine.tracing.proxy import Args, Kwargs, Proxy, TracerBase
from fxls.engine.tracing.proxyable import ProxyableClassMeta
from fxls.engine.tracing.wrap import function_behind
from fxls.engine.written_class import written_class

__all__ = ["Tracer"]


@lasting("fxls.engine._symbolic_trace")
class Tracer(TracerBase):
    """Traces modules and functions into graphs; one at a time, again and again.

    Override its methods to change what is recorded. While `trace` runs, calls of
    modules and reads of their attributes in this thread come here.
    """

    root: torch.nn.Module
    """What was traced last; for a function, a module that holds its constants."""
    tensor_attrs: dict[Any, str]
    """The tensors (and script objects) that are attributes, and their paths."""

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        """Calls of these functions, and of those of these modules, become nodes.

        With `param_shapes_constant`, the shapes of parameters are plain numbers.
        """
        self._autowrap_search = list(autowrap_modules)
        functions = [
            *autowrap_functions,
            *[
                value
                for module in autowrap_modules
                for name, value in vars(module).items()
                if name[0] != "_" and callable(value)
            ],
        ]
        # A trace of another thread, or one outside of this, may have replaced them.
        self._autowrap_functions = [
            f if type(f) is BuiltinFunctionType else function_behind(f)
            for f in functions
        ]
        self._autowrap_function_ids = set(map(id, self._autowrap_functions))
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[torch.nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = ModuleStack()
        self.num_calls: dict[str, int] = {}
        self._members: Members | None = None
        self._fresh: dict[str, int] = {}

    def trace(
        self,
        root: torch.nn.Module | Callable[..., Any],
        concrete_args: ConcreteArgs | None = None,
    ) -> Graph:
        """The graph of what a module's forward, or a function, does.

        `concrete_args` fixes arguments to values: by name, or for all in order. Raises
        TraceError, or what the program raises; what was patched is as before then.
        """
        if isinstance(root, torch.nn.Module):
            self.root = root
            function = getattr(type(root), self.traced_func_name, None)
            if function is None:
                raise AssertionError(
                    f"{self.traced_func_name!r} doesn't exist in {type(root).__name__},"
                    " and traced_func_name says to trace it"
                )
            self.root_module_name = root._get_name()
        else:
            self.root = torch.nn.Module()
            function = root
        assert isinstance(function, FunctionType), f"{function!r} is not a function"
        members = self._members = Members(self.root)
        self.tensor_attrs = members.constants
        self.submodule_paths = members.paths if self.root is root else None
        self.num_calls = {}
        self._fresh = {}
        self.graph = Graph(tracer_cls=type(self))
        code = function.__code__
        self.graph._co_fields = {
            "co_name": code.co_name,
            "co_filename": code.co_filename,
            "co_firstlineno": code.co_firstlineno,
        }
        self.graph.traced = _named(root, function)
        session = patching.TraceSession(
            self,
            frozenset(self._autowrap_function_ids),
            has_own_call=self._is_own("call_module"),
            has_own_getattr=self._is_own("getattr"),
            has_own_leaves=any(map(self._is_own, _LEAF_STEPS)),
        )
        reads_attributes = (
            session.has_own_getattr
            or members.have_any("_parameters")
            or (self.proxy_buffer_attributes and members.have_any("_buffers"))
        )
        try:
            self._has_own_steps = any(map(self._is_own, _STEPS))
            self._trail = FrameOrigins(_BOUNDARIES, _overrides(type(self)))
            with (
                gc_pause.paused(),
                patching.session(
                    session, self._autowrap_search, reads_attributes=reads_attributes
                ),
            ):
                session.autowrap(function.__globals__)
                self._record(function, concrete_args, is_module=self.root is root)
        except Exception as error:
            # Few traces end here, and what explains an error takes time to import.
            from fxls.engine.tracing.refusals import explained  # noqa: PLC0415

            told = explained(error)
            if told is error:
                raise
            raise told from error
        finally:
            self.submodule_paths = self._trail = None
            self._has_own_steps = True
        return self.graph

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are recorded as one node, not traced through.

        By default those of `torch.nn` are leaves, and Sequential is not.
        """
        return m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(
            m, torch.nn.Sequential
        )

    def call_module(
        self,
        m: torch.nn.Module,
        forward: Callable[..., Any],
        args: Args,
        kwargs: Kwargs,
    ) -> Any:
        """What a call of a module gives: a node's proxy for a leaf, or its result.

        `forward` calls the module as if nothing was traced here.
        """
        path = self.path_of_module(m)
        with patching.ModuleCall(self, m, path):
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """The dotted path of a submodule; raises ForeignModuleError for any other."""
        paths = self.submodule_paths or Members(self.root).paths
        path = paths.get(mod)
        if path is None:
            raise errors.ForeignModuleError(frames=self._here(_caller()))
        return path

    def getattr(
        self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]
    ) -> Any:
        """What a read of a module's attribute gives, its value being `attr_val`.

        By default a proxy for a parameter (and with `proxy_buffer_attributes` for a
        buffer), one for each path, and for all else the value.
        """
        if not isinstance(attr_val, torch.Tensor):
            return attr_val
        path = None
        # For what is none, the class asks more of a value than this.
        if type(attr_val) is _Parameter or isinstance(attr_val, _Parameter):
            path = self._path_of("_parameters", attr_val)
        if path is None and self.proxy_buffer_attributes:
            path = self._path_of("_buffers", attr_val)
        if path is None:
            return attr_val
        proxy = parameter_proxy_cache.get(path)
        if proxy is None:
            proxy = parameter_proxy_cache[path] = self._read(path, attr_val)
        return proxy

    def create_arg(self, a: object) -> Argument:
        """What stands in a node for a value of the program; may append nodes.

        Tensors and modules are read from the root by their path; a tensor that is none
        of its attributes becomes one, called ``_tensor_constant0`` and so on.
        """
        kind = type(a)
        if isinstance(a, Proxy):
            return node_of(self, a)
        if kind in ATOMS or kind in _CONTAINERS:
            return super().create_arg(a)
        path = self._path_of_value(a)
        if path is not None:
            node = self.create_node("get_attr", path, (), {})
            origin.narrow_to_part(node, path.rpartition(".")[2])
            return node
        if isinstance(a, tuple) and hasattr(kind, "_fields"):
            parts = tuple([self.create_arg(part) for part in cast("Any", a)])
            return self.create_node("call_function", kind, parts, {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """The name of an attribute that the root does not have: prefix and number."""
        number = self._fresh.get(prefix, 0) if hasattr(self.root, f"{prefix}0") else 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._fresh[prefix] = number + 1
        return f"{prefix}{number}"

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,  # noqa: FBT001 - FX's signature
        concrete_args: ConcreteArgs | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Append the placeholders; returns what to call, and with which values."""
        return inputs(self, root_fn, concrete_args, is_module=is_module)

    @property
    def trail(self) -> FrameOrigins:
        """What takes the origins of the trace that runs."""
        assert self._trail is not None, "nothing is being traced"
        return self._trail

    @contextmanager
    def placing(self, frames: RawOrigin | None) -> Generator[None]:
        """A block in which nodes that no source frame makes have this origin."""
        trail = self._trail
        if trail is None:
            yield
            return
        before = (trail.caller, trail.function)
        if frames is not None and not is_source(frames[0]):
            frames = None
        trail.caller, trail.function = frames, None
        try:
            yield
        finally:
            trail.caller, trail.function = before

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        new = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            # Modules and functions are shared: they cannot be copied.
            is_shared = key.startswith("_autowrap_")
            copied = copy.copy(value) if is_shared else copy.deepcopy(value, memo)
            new.__dict__[key] = copied
        return new

    def _record(
        self, function: FunctionType, fixed: ConcreteArgs | None, *, is_module: bool
    ) -> None:
        """Append all nodes of a trace: placeholders, what runs, and the output."""
        call, values = self.create_args_for_root(function, is_module, fixed)
        result = _run(call, values)
        returned = self.trail.returned() or (
            inspect.unwrap(function).__code__,
            None,
            None,
        )
        annotations: dict[str, Any] = inspect.unwrap(call).__annotations__
        with self.placing(returned):
            self.create_node(
                "output",
                "output",
                (self.create_arg(result),),
                {},
                type_expr=annotations.get("return"),
            )

    def _read(self, path: str, tensor: torch.Tensor) -> Proxy:
        """A new node that reads a parameter or buffer, as a proxy."""
        if self.param_shapes_constant and _takes_factory(self.create_proxy):

            def with_shape(node: Node) -> Proxy:
                return ParameterProxy(self, node, path, tensor)  # pyright: ignore[reportArgumentType]  # says so itself

            return self.create_proxy(
                "get_attr", path, (), {}, proxy_factory_fn=with_shape
            )
        return self.create_proxy("get_attr", path, (), {})

    def _path_of_value(self, a: object) -> str | None:
        """The path of a value that must be read from the root; may put it there.

        None for a value that can stand in a node.
        """
        kind = type(a)
        if isinstance(a, torch.nn.Parameter):
            path = self._path_of("_parameters", a)
            if path is None:
                raise errors.ForeignParameterError(frames=self._here(_caller()))
            return path
        path = None
        if isinstance(a, torch.Tensor):
            path = self._path_of("_buffers", a)
        elif isinstance(a, torch.nn.Module):
            path = self._members.paths.get(a) if self._members else None
        if path is not None:
            return path
        if isinstance(a, CONSTANTS) or is_opaque_reference_type(kind):
            path = self.tensor_attrs.get(a)
            if path is None:
                path = self.tensor_attrs[a] = self._keep(a, _constant_name(a))
            return path
        if isinstance(kind, ProxyableClassMeta):
            return self._keep(a, f"_{kind.__name__}_constant_")
        return None

    def _keep(self, value: Any, prefix: str) -> str:
        """Make a value an attribute of the root; returns its name."""
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    def _path_of(self, kind: str, tensor: torch.Tensor) -> str | None:
        members = self._members
        return None if members is None else members.path_of(kind, tensor)

    def _is_own(self, method: str) -> bool:
        """Whether a method is not the one of this class: overridden, or patched."""
        return (
            method in self.__dict__ or getattr(type(self), method) is not _STOCK[method]
        )


def _run(function: Callable[..., Any], values: list[Any]) -> Any:
    """Call what is traced. The frames inside this one are those of the program."""
    return function(*values)


_Parameter = torch.nn.Parameter

_BOUNDARIES = (
    _run.__code__,
    patching.call_module.__code__,
    Tracer.trace.__code__,
)

_STEPS = ("create_arg", "create_node", "create_proxy", "proxy")

_LEAF_STEPS = (*_STEPS, "call_module", "is_leaf_module", "path_of_module")

_STOCK = {name: getattr(Tracer, name) for name in (*_LEAF_STEPS, "getattr")}

_CONTAINERS = frozenset({tuple, list, dict, slice})


def _named(root: object, function: FunctionType) -> tuple[str, str]:
    """Module and qualified name of what a person would say is traced."""
    graph = getattr(root, "graph", None)
    if isinstance(graph, Graph) and graph.traced is not None:
        return graph.traced  # a graph module, whose class is named after the model's
    is_module = isinstance(root, torch.nn.Module)
    named = written_class(type(root)) if is_module else function
    # A function of a text that was given no name is in no module.
    return named.__module__ or "", named.__qualname__


def _overrides(tracer: type[Tracer]) -> frozenset[int]:
    """The ids of the code of a tracer's own methods, which is no code of the model."""
    return frozenset(
        id(function.__code__)
        for base in tracer.__mro__
        if not base.__module__.startswith("fxls.engine.")
        for function in vars(base).values()
        if isinstance(function, FunctionType)
    )


def _takes_factory(create_proxy: Callable[..., Any]) -> bool:
    """Whether `create_proxy` (maybe one written long ago) has the last parameter."""
    return "proxy_factory_fn" in inspect.signature(create_proxy).parameters


def _constant_name(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return "_tensor_constant"
    if isinstance(value, pytree.TreeSpec):
        return "_tree_spec_constant"
    if isinstance(value, CONSTANTS):
        return "_torchbind_obj"
    return "_opaque_obj"


def _caller() -> FrameType:
    return sys._getframe(2)
