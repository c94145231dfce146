"""The module whose forward is generated from a graph."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import weakref
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from torch.nn import Module

from fxls.attempt import leave_out_frame
from fxls.engine.code.python_code import PythonCode
from fxls.engine.graph import Graph
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.late_names import late_names
from fxls.engine.module import attributes, module_copy
from fxls.engine.module.compile import ForwardCode, forward_of, is_eager, is_lazy
from fxls.engine.module.module_copy import deep_copy

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node
    from fxls.engine.tracing.tracer import Tracer

__all__ = ["GraphModule"]

Hook = TypeVar("Hook", bound=Callable[..., Any])


class AskedByDynamo:
    """Makes the forward of a module that torch.compile has met, and is no attribute.

    Dynamo asks the class of each module for it when it meets the module; without it, it
    would trace how the forward is made where a program writes ``self.inner.forward(x)``.
    """

    def __get__(self, instance: object, owner: type) -> Any:
        # What is wrong with the graph is said where the forward is needed.
        with contextlib.suppress(Exception):
            _: object = cast("Any", owner).forward
        raise AttributeError("_dynamo_marked_static")


class GraphModule(Module):
    """A module with a graph, and a forward that does what the graph says.

    - Every instance has a class of its own, whose `forward` is the generated function.
    - Code and function are made when they are first needed, and are those of the graph
      as it was at `recompile`, however it is edited since.
    """

    __jit_unused_properties__ = (
        *("graph", "code", "_code", "_boxed_call"),
        *("_lineno_map", "_prologue_start"),
    )

    # Dynamo asks this in every torch since 2.11, and nobody else does.
    _dynamo_marked_static = AskedByDynamo()

    if TYPE_CHECKING:  # TorchScript takes annotations of the class for its attributes
        meta: dict[str, Any]
        """Whatever passes note about the module."""
        _graph: Graph
        _forward_code: ForwardCode
        _tracer_cls: type[Tracer] | None
        _tracer_extras: dict[str, Any]
        _replace_hooks: list[Callable[..., object]]
        _create_node_hooks: list[Callable[[Node], object]]
        _erase_node_hooks: list[Callable[[Node], object]]
        _deepcopy_hooks: list[Callable[[GraphModule], object]]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        kind = next(c for c in cls.__mro__ if "_is_of_one" not in c.__dict__)
        body = {"_is_of_one": True, "__module__": kind.__module__}
        own = type(kind.__name__, (kind,), body)
        return super().__new__(cast("type[Self]", own))

    def __init__(
        self,
        root: Module | Mapping[str, Any],
        graph: Graph,
        class_name: str = "GraphModule",
    ) -> None:
        """Take from `root` what the nodes of `graph` name: modules, parameters, values.

        `root` is a module, or a dict from the dotted paths in the graph to values.
        """
        if not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            refuse_foreign(graph)
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            attributes.share_targets(self, root, graph)
        elif isinstance(root, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            attributes.install_targets(self, root, graph)
        else:
            raise RuntimeError(
                f"GraphModule(root, graph): root is a module or a dict, not {root!r} of"
                f" unsupported type {type(root).__name__}"
            )
        tracer = graph._tracer_cls
        # A class that a function defines cannot be found again when it is unpickled.
        is_local = tracer is not None and "<locals>" in tracer.__qualname__
        self.__dict__.update(
            meta={},
            shape_env=None,
            _tracer_cls=None if is_local else tracer,
            _tracer_extras=graph._tracer_extras or {},
            _replace_hooks=[],
            _create_node_hooks=[],
            _erase_node_hooks=[],
            _deepcopy_hooks=[],
        )
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assign another one, and the code is that one's."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            refuse_foreign(graph)
            raise AssertionError(
                f"the graph of a GraphModule is a Graph, not {type(graph).__name__}"
            )
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The generated code."""
        return self._code

    @property
    def _code(self) -> str:
        """What `code` gives; a `recompile` of somebody's own says what that is."""
        return self._forward_code.src

    @_code.setter
    def _code(self, text: str) -> None:
        code = ForwardCode(self._graph)
        code.take(PythonCode(text, {}))
        self.__dict__["_forward_code"] = code

    @property
    def _lineno_map(self) -> dict[int, int | None]:
        """Line of the forward, its ``def`` being line 0, to the place of the node."""
        return self._forward_code._lineno_map

    @property
    def _prologue_start(self) -> int:
        """The line of ``def`` in the code, counted from one."""
        return self._forward_code._prologue_start

    def recompile(self) -> PythonCode:
        """Let code and forward be those of the graph as it is.

        Call it after editing the graph. They are made when they are needed.
        """
        if is_lazy(self._graph):
            # The old code goes first: nobody has to keep what the graph was for it.
            self.__dict__.pop("_forward_code", None)
        self.__dict__["_forward_code"] = code = ForwardCode(self._graph)
        nested = getattr(self._graph._codegen, "pytree_info", None)
        if nested is not None:  # what the code of nested inputs and results reads
            self._in_spec, self._out_spec = nested.in_spec, nested.out_spec
        type(self).forward = cast("Any", PendingForward(self))
        type(self).__call__ = _PENDING_CALL
        for child in self._modules.values():
            if isinstance(child, GraphModule):
                child.recompile()
        if is_eager():
            _ = self.forward
        return code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward; say which line of it raised, when it raises."""
        try:
            compiled: Any = self._compiled_call_impl  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # torch's
            if Module.__call__ is not _UNPATCHED or compiled is not None:
                return super().__call__(*args, **kwargs)
            # What Module.__call__ does, without a frame more.
            return self._call_impl(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # torch's
        except Exception as error:
            from fxls.engine.module import forward_error  # noqa: PLC0415 - 3 ms, for an error

            forward = type(self).__dict__["forward"]
            # FX's sentence is for who has nothing else; the runtime is not that alone.
            aloud = not is_eager()
            forward_error.report(
                self._forward_code, self._get_name(), forward, error, aloud=aloud
            )
            leave_out_frame(error)
            raise

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a dotted path, making the modules on the way.

        False when something on the way is no module; nothing is changed then.
        """
        return attributes.add_submodule(self, target, m)

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a dotted path; False when there is none."""
        return attributes.delete_submodule(self, target)

    def delete_all_unused_submodules(self) -> None:
        """Remove every submodule that the graph neither calls nor reads from.

        A module that is called keeps all below it; one on the way to a used module or
        attribute stays.
        """
        attributes.delete_unused_submodules(self, self._graph)

    def print_readable(
        self,
        print_output: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        include_stride: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        include_device: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        colored: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        *,
        expanded_def: bool = False,
        fast_sympy_print: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Print, and return, the code with what is known of each node beside it.

        Submodules that are GraphModules follow as classes inside the class.
        `fast_sympy_print` is accepted: sizes are printed as they print themselves.
        """
        text = self._readable(
            self._get_name(),
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            additional_meta=additional_meta,
            expanded_def=expanded_def,
        )
        if print_output:
            print(text)  # noqa: T201 - FX's method prints
        return text

    def _readable(self, name: str, **form: Any) -> str:
        source = self._graph.python_code("self", verbose=True, **form).src
        text = f"class {name}(torch.nn.Module):\n" + source.lstrip("\n")
        inner = [""]
        form.pop("expanded_def", None)
        for child_name, child in self.named_children():
            if isinstance(child, GraphModule):
                inner.append(child._readable(child_name, **form))
        return _indented(text) + _indented("\n".join(inner))

    def to_folder(
        self, folder: str | os.PathLike[str], module_name: str = "FxModule"
    ) -> None:
        """Write a package that has this module as the class `module_name`."""
        from fxls.engine.module import to_folder  # noqa: PLC0415 - needs GraphModule, rarely

        to_folder.write(self, folder, module_name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        new = type(self).__new__(type(self))
        type(new).__name__ = type(self).__name__
        memo[id(self)] = new
        for key, value in list(self.__dict__.items()):
            if key in module_copy.HOOKS:
                new.__dict__[key] = None if isinstance(value, bool) else type(value)()
            elif key != "_forward_code":
                new.__dict__[key] = deep_copy(value, memo)
        new.graph = new._graph
        new._forward_code.share(self._forward_code, self._graph)
        for name, value in new.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(new, name, value)
        for hook in new._deepcopy_hooks:
            hook(new)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        from fxls.engine.module import pickling  # noqa: PLC0415 - few are written

        return pickling.reduce_module(self)

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        from fxls.engine.module import pickling  # noqa: PLC0415 - few are written

        return pickling.reduce_packaged(self, exporter)

    def __setstate__(self, state: dict[str, Any]) -> None:
        cast("Any", super()).__setstate__(state)
        self.graph = self._graph

    def __copy__(self) -> GraphModule:
        new = GraphModule(self, self._graph, type(self).__name__)
        new.__dict__["meta"] = self.meta
        return new

    def __str__(self) -> str:
        reminder = (
            "# To see more debug info, please use `graph_module.print_readable()`"
        )
        return "\n".join([super().__str__(), self.code, reminder])

    def _replicate_for_data_parallel(self) -> GraphModule:
        new = copy.copy(self)
        object.__setattr__(new, "_is_replica", True)
        return new

    # -- hooks of the graph ------------------------------------------------------

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., object]) -> Generator[None]:
        """Inside the block, `f` is called as by `_register_replace_node_hook`."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., object]) -> None:
        """Call ``f(old=node, new=name, user=node)`` when a user changes its input."""
        self._replace_hooks.append(_callable(f))

    def _unregister_replace_node_hook(self, f: Callable[..., object]) -> None:
        self._replace_hooks.remove(_callable(f))

    def _register_create_node_hook(self, f: Callable[[Node], object]) -> None:
        """Call `f` with every node that is made."""
        self._create_node_hooks.append(_callable(f))

    def _unregister_create_node_hook(self, f: Callable[[Node], object]) -> None:
        self._create_node_hooks.remove(_callable(f))

    def _register_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        """Call `f` with every node that is about to be erased."""
        self._erase_node_hooks.append(_callable(f))

    def _unregister_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        self._erase_node_hooks.remove(_callable(f))

    def _register_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        """Call `f` with every deep copy of the module."""
        self._deepcopy_hooks.append(_callable(f))

    def _unregister_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        self._deepcopy_hooks.remove(_callable(f))


class PendingForward:
    """Stands for the forward of one class until it is needed; then the function does."""

    def __init__(self, module: GraphModule) -> None:
        self._module = weakref.ref(module)

    def __get__(self, instance: GraphModule | None, owner: type) -> Any:
        module = instance or self._module()
        if module is None:
            raise AttributeError("the module whose forward this was is gone")
        function = forward_of(module, module._forward_code)
        kind: Any = type(module)
        kind.forward = function
        if kind.__dict__.get("__call__") is _PENDING_CALL:
            del kind.__call__  # nobody steps through it for nothing
        return function if instance is None else function.__get__(instance, owner)


class PendingCall:
    """Stands for the call of one class until it is looked up, and makes the forward.

    A compiler of Python looks the call of a module up before it reads the forward's
    bytecode: what it reads is then the generated function, and not how that is made.
    """

    def __get__(self, instance: GraphModule | None, owner: type) -> Any:
        kind = next(c for c in owner.__mro__ if c.__dict__.get("__call__") is self)
        del cast("Any", kind).__call__
        # What is wrong with the graph is said where the forward is needed.
        with contextlib.suppress(Exception):
            _: object = cast("Any", owner if instance is None else instance).forward
        return getattr(owner if instance is None else instance, "__call__")  # noqa: B004, B009 - the next one in line


_PENDING_CALL = cast("Any", PendingCall())


def _callable(f: Hook) -> Hook:
    if not callable(f):
        raise AssertionError(f"a hook is something to call, not {f!r}")
    return f


def _indented(text: str) -> str:
    """All lines but the first one, and but empty ones, a level further in."""
    return _BLANK.sub("\n", text.replace("\n", "\n    "))


_BLANK = re.compile(r"\n[^\S\n]+(?=\n|\Z)")
"""A line of which nothing is seen."""

_UNPATCHED = Module.__call__

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
"""Under this key of `meta` are attributes, by name, that every deep copy gets."""

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
