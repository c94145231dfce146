"""What is used of torch's insides, which to a type checker are objects like any other.

The hooks in `producers` name further ones, which they replace; nobody else does.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from types import CodeType
from typing import Any, cast

import torch

from fxls.installed_torch import always, private

__all__ = [
    "TANGENTS",
    "DispatchMode",
    "autograd_node",
    "children_of",
    "claiming_to_compile",
    "compile_id",
    "fx",
    "graph_task",
    "held_by",
    "is_autocast",
    "is_code_alone",
    "is_compiled",
    "is_compiling",
    "is_dynamo_compiling",
    "is_made",
    "is_recording",
    "is_view",
    "leaving_transforms",
    "lookup_backend",
    "nodes_of_autograd",
    "number_of",
    "ranks_of_group",
    "schema_of",
    "sizes_read",
    "source_of",
    "unwrapped",
    "version_of",
]

fx: Any = torch.fx
"""``import torch`` has loaded it."""

TANGENTS = "tangents"
"""How AOTAutograd begins the names of the gradients that come from outside."""

is_dynamo_compiling: Callable[[], bool] = cast(
    "Any", torch
).compiler.is_dynamo_compiling
"""Whether torch.compile traces this code, and does not run it."""

_compilation: Callable[[], object | None] = private(
    "torch._guards:CompileContext.try_get",
    "graphs that torch.compile makes for itself are listings as well",
    lambda: always(None),
)
_compile_id: Callable[[], object | None] = private(
    "torch._guards:CompileContext.current_compile_id",
    "graphs behind the captured ones of torch.compile are no listings",
    lambda: always(None),
)
_RECORDING = "values that transforms of torch.func compute may be watched"
_dispatch_modes: Callable[[], int] = private(
    "torch._C:_len_torch_dispatch_stack", _RECORDING, lambda: always(0)
)
_function_modes: Callable[[], int] = private(
    "torch._C:_len_torch_function_stack", _RECORDING, lambda: always(0)
)
_func_level: Callable[[], int | None] = private(
    "torch._C:_functorch.maybe_current_level", _RECORDING, lambda: always(None)
)


_autocast: Callable[[], bool] = private(
    "torch._C:_is_any_autocast_enabled",
    "functions that are called under autocast are compared without it",
    lambda: always(value=False),
)


def is_autocast() -> bool:
    """Whether operators are cast that a graph does not say are."""
    return _autocast()


def is_compiling() -> bool:
    """Whether torch.compile works in this thread."""
    return _compilation() is not None


def compile_id() -> str:
    """Torch's name of the compilation, as ``1/0``; ``None`` outside of any."""
    return str(_compile_id())


def is_compiled(code: CodeType) -> bool:
    """Whether code is what torch.compile made, or what it is compiling."""
    frames = _convert_frame()
    return frames is not None and (
        code in frames.output_codes or code in frames.input_codes
    )


def is_made(code: CodeType) -> bool:
    """Whether code is what torch.compile made, in place of a function of the user's."""
    frames = _convert_frame()
    return frames is not None and code in frames.output_codes


@contextlib.contextmanager
def claiming_to_compile() -> Generator[None]:
    """Let code that asks whether it is compiled do what it does then."""
    compiler: Any = cast("Any", torch).compiler
    names = ("_is_compiling_flag", "is_dynamo_compiling")
    before = {name: getattr(compiler, name) for name in names}
    compiler._is_compiling_flag = True
    compiler.is_dynamo_compiling = always(value=True)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(compiler, name, value)


def _convert_frame() -> Any:
    """Where torch.compile notes code objects; None while nothing was compiled."""
    return sys.modules.get("torch._dynamo.convert_frame")


def lookup_backend(name: Any) -> Callable[..., Any]:
    """The backend of torch.compile that has a name, or that is given; loads Dynamo."""
    registry: Any = importlib.import_module("torch._dynamo.backends.registry")
    return registry.lookup_backend(name)


def is_recording() -> bool:
    """Whether anything traces, records or transforms what is done with tensors."""
    return _dispatch_modes() > 0 or _function_modes() > 0 or _func_level() is not None


_TRANSFORMS = "a graph of torch.func that raises when it is run again disturbs others"
_depth: Callable[[], int] = private(
    "torch._C:_functorch.get_dynamic_layer_stack_depth", _TRANSFORMS, lambda: always(0)
)
_innermost: Callable[[], Any] = private(
    "torch._C:_functorch.peek_interpreter_stack", _TRANSFORMS, lambda: always(None)
)
_LEAVE: dict[str, Callable[[], object]] = {
    kind: private(f"torch._C:_functorch.{name}", _TRANSFORMS, lambda: always(None))
    for kind, name in (
        ("Vmap", "_vmap_decrement_nesting"),
        ("Grad", "_grad_decrement_nesting"),
        ("Jvp", "_jvp_decrement_nesting"),
        ("Functionalize", "_func_decrement_nesting"),
    )
}
"""What leaves a transform, by its kind. With torch 2.11 the one call for all of them,
`pop_dynamic_layer_stack_and_undo_to_depth`, asserts that each takes gradients.
"""

_is_wrapped: Callable[[Any], bool] = private(
    "torch._C:_functorch.is_functorch_wrapped_tensor",
    _TRANSFORMS,
    lambda: always(value=False),
)
_unwrapped: Callable[[Any], Any] = private(
    "torch._C:_functorch.get_unwrapped", _TRANSFORMS, lambda: always(None)
)


def unwrapped(tensor: Any) -> Any:
    """The tensor in one that a transform of torch.func has around it."""
    while _is_wrapped(tensor):
        tensor = _unwrapped(tensor)
    return tensor


@contextlib.contextmanager
def leaving_transforms() -> Generator[None]:
    """Leave in the end what was entered and not left: transforms of torch.func, and the
    levels of forward-mode gradients.
    """
    forward: Any = torch.autograd.forward_ad
    depth, level = _depth(), forward._current_level
    try:
        yield
    finally:
        while forward._current_level > level:
            forward.exit_dual_level()
        for _ in range(_depth() - depth):
            innermost = _innermost()
            if innermost is not None:
                _LEAVE[innermost.key().name]()


_GRADIENTS = "gradients are watched at no node"
autograd_node: Callable[[], Any] = private(
    "torch._C:_current_autograd_node", _GRADIENTS, lambda: always(None)
)
"""The node of autograd's graph that runs in this thread."""

graph_task: Callable[[], int] = private(
    "torch._C:_current_graph_task_id", _GRADIENTS, lambda: always(-1)
)
"""The number of the backward that runs in this thread; -1 outside of any."""

nodes_of_autograd: Callable[[], int] = private(
    "torch._C:_autograd._get_sequence_nr", _GRADIENTS, lambda: always(0)
)
"""How many nodes this thread has made; see `number_of`."""


def number_of(node: Any) -> int:
    """How many nodes of autograd's graph its thread had made before this one; of the
    node for a leaf a number beyond all others.
    """
    return node._sequence_nr()


def sizes_read(node: Any) -> object:
    """The sizes of what a node of autograd's viewed or expanded; None of other nodes, and
    where torch does not keep them.
    """
    return getattr(node, "_saved_self_sym_sizes", None)


DispatchMode: Any = private(
    "torch.utils._python_dispatch:TorchDispatchMode",
    "long sums, and products on a GPU, are compared more strictly than they are computed",
    lambda: contextlib.nullcontext,
)
"""What sees each operator while it is entered, and may compute it otherwise."""


def schema_of(called: object) -> object | None:
    """The signature of an operator of `torch.ops`; None of anything else."""
    return getattr(called, "_schema", None)


def is_view(called: object) -> bool:
    """Whether an operator gives what it was given in another form, and computes nothing."""
    schema: Any = schema_of(called)
    aliases = [one.alias_info for one in schema.arguments] if schema else []
    return any(one is not None and not one.is_write for one in aliases)


def is_code_alone(called: object) -> bool:
    """Whether what a node calls writes inductor's code and computes nothing, as what a
    pattern of inductor puts there for several operators.
    """
    return getattr(called, "_inductor_lowering_function", False) is True


_resolved: Callable[[str], object] = private(
    "torch._C:_distributed_c10d._resolve_process_group",
    "nobody knows which ranks take part in a collective operation",
    lambda: always(None),
)


def ranks_of_group(group: Any) -> list[int]:
    """The ranks of a group of processes, which a graph names or holds; empty where it is
    gone, or nobody knows it.
    """
    distributed: Any = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return []
    try:
        found = _resolved(group) if isinstance(group, str) else group
        return list(distributed.get_process_group_ranks(found)) if found else []
    except (KeyError, RuntimeError, ValueError):
        return []


def source_of(node: Any) -> str:
    """What torch.compile calls the value that an input of a captured graph has:
    ``L['self']._parameters['weight']``; empty where it does not say.
    """
    source: Any = getattr(node, "_dynamo_source", None)
    name: object = getattr(source, "name", "")
    found: object = name() if callable(name) else name  # a method until torch 2.9
    return found if isinstance(found, str) else ""


def version_of(tensor: Any) -> int:
    """How often the values of a tensor were changed in place; -1 where nobody counts."""
    return -1 if tensor.is_inference() else tensor._version


def held_by(module: torch.nn.Module) -> dict[str, Any]:
    """The attributes of a module, and what its `__getattr__` finds; empty for one that
    `Module.__init__` did not make.
    """
    own = module.__dict__
    places = [own.get(name) for name in ("_parameters", "_buffers", "_modules")]
    if not all(isinstance(place, Mapping) for place in places):
        return {}
    held = dict(own)
    for place in places:
        held |= cast("Mapping[str, Any]", place)
    return held


def children_of(module: torch.nn.Module) -> dict[str, torch.nn.Module | None]:
    """The submodules of a module, by name, also those that are None."""
    return dict(module.__dict__["_modules"])
