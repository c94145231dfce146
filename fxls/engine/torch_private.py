"""The private parts of torch that the engine uses, by names without an underscore.

A torch that moves one of them is followed here, and one that has lost it is without what
needs it. `torch_fx` and `tracing.torch_wraps` name what torch.fx has besides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch

from fxls.installed_torch import always, is_at_least, private, require

__all__: list[str] = [
    "COMPILERS",
    "COUNTED_BY_BASE",
    "FORWARD_AD",
    "INPUTS_FIRST",
    "OPERATOR_MODULE",
    "PYTREE_IMPORT",
    "RESULTS_AS_TUPLE",
    "TENSOR_MODULE",
    "UNIONS_BY_NAME",
    "FakeScriptObject",
    "FakeTensor",
    "FakeTensorMode",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "ScriptMethod",
]
__all__ += [
    "assert_async",
    "assert_true",
    "boolean_dispatched",
    "call_torchbind",
    "count_dispatch_modes",
    "count_function_modes",
    "deepcopy_to_fake",
    "detect_fake_mode",
    "draws_count",
    "dtensor_module",
    "dtype_abbrs",
    "enter_autocast",
    "exit_autocast",
    "fast_detach",
    "find_builtin",
    "forward_steps",
    "has_effects",
    "inductor_bisector",
    "inductor_settings",
    "infer_type",
    "internal_overlap",
    "is_impure",
    "is_opaque_reference_type",
    "is_opaque_value_type",
    "python_dispatcher",
    "pytree",
    "schemas_for_operator",
    "set_grad_enabled",
]

# Whatever imports the engine comes here first: no older torch gets any further.
require(torch.__version__)

if TYPE_CHECKING:
    import torch.utils._pytree as pytree
    from torch._library.fake_class_registry import FakeScriptObject
    from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
else:
    pytree = private("torch.utils._pytree", "graphs with structures cannot be made")
    FakeScriptObject = private(
        "torch._library.fake_class_registry:FakeScriptObject",
        "graphs with fake script objects cannot be made",
    )
    HigherOrderOperator = private(
        "torch._ops:HigherOrderOperator", "higher-order operators are unknown"
    )
    OpOverload = private("torch._ops:OpOverload", "", lambda: type(_add.Tensor))
    OpOverloadPacket = private("torch._ops:OpOverloadPacket", "", lambda: type(_add))
    FakeTensor = private(
        "torch._subclasses.fake_tensor:FakeTensor", "FakeTensorProp cannot be run"
    )
    FakeTensorMode = private(
        "torch._subclasses.fake_tensor:FakeTensorMode",
        "FakeTensorProp and reinplace cannot be run",
    )

_torch: Any = torch
_add: Any = _torch.ops.aten.add
_libraries: Any = sys.modules.get("torch._library.utils")
_fx_node: Any = sys.modules.get("torch.fx.node")
"""`import torch` has loaded both."""

OPERATOR_MODULE = "torch._ops"
"""The module that operators say they are of; code finds them in ``torch.ops``."""
TENSOR_MODULE = "torch._tensor"
"""The module that methods of tensors say they are of."""
COMPILERS = ("torch._dynamo.", "torch._inductor.")
"""What the names of modules begin with that ``import torch`` does not load."""
PYTREE_IMPORT = "import torch.utils._pytree as pytree"
"""The statement by which a file has what generated code calls ``pytree``."""

_IS_2_14 = is_at_least(torch.__version__, "2.14")

COUNTED_BY_BASE = is_at_least(torch.__version__, "2.12")
"""Whether in torch.fx a taken ``x_5`` gets the next number behind the last ``x``; an
older one looks for the first that is free.
"""
UNIONS_BY_NAME = _IS_2_14
"""Whether torch.fx writes ``X | Y`` as ``Union[X, Y]`` in generated code."""
RESULTS_AS_TUPLE = _IS_2_14
"""Whether in torch.fx a signature with several results is annotated with the type
``tuple[X, Y]``, or with the tuple of the types.
"""
INPUTS_FIRST = _IS_2_14
"""Whether torch.fx gives a fused module its inputs before its nodes, which other
programs count on: in the order of the graph, where they are its inputs.
"""

# -- what graphs call ------------------------------------------------------------------

_KEPT = "dead code elimination does not know calls of it"

assert_true: Callable[..., Any] = private("torch:_assert", _KEPT)
assert_async: Callable[..., Any] = private("torch:_assert_async", _KEPT)
set_grad_enabled: Callable[..., Any] = private("torch._C:_set_grad_enabled", _KEPT)
enter_autocast: Callable[..., Any] = private(
    "torch.amp.autocast_mode:_enter_autocast", _KEPT
)
exit_autocast: Callable[..., Any] = private(
    "torch.amp.autocast_mode:_exit_autocast", _KEPT
)
call_torchbind: Callable[..., Any] = private(
    "torch._higher_order_ops.torchbind:call_torchbind", _KEPT
)
# Torch before 2.13 has none of them.
FORWARD_AD: tuple[Callable[..., Any], ...] = tuple(
    private(f"torch._functorch.predispatch:{name}", "")
    for name in (
        "_enter_dual_level",
        "_exit_dual_level",
        "_jvp_increment_nesting",
        "_jvp_decrement_nesting",
    )
)
"""What enters and leaves a level of forward-mode differentiation."""

# -- what is asked of torch ------------------------------------------------------------

ScriptMethod: type[Any] = private("torch._C:ScriptMethod", "")
boolean_dispatched: Any = private(
    "torch._jit_internal:boolean_dispatched",
    "the schemas of functions such as max_pool2d are unknown",
    dict,
)
"""Functions that one bool argument chooses between, by the function that has it."""
count_dispatch_modes: Callable[[], int] = private(
    "torch._C:_len_torch_dispatch_stack",
    "modules are copied one parameter at a time",
    lambda: always(1),
)
count_function_modes: Callable[[], int] = private(
    "torch._C:_len_torch_function_stack",
    "modules are copied one parameter at a time",
    lambda: always(1),
)
detect_fake_mode: Callable[..., Any] = private(
    "torch._guards:detect_fake_mode",
    "ShapeProp does not find the fake mode that is in force",
    lambda: always(None),
)
dtype_abbrs: dict[torch.dtype, str] = private(
    "torch.utils._dtype_abbrs:dtype_abbrs", "dtypes in graphs are written out", dict
)
fast_detach: Callable[..., Any] = private(
    "torch._subclasses.fake_impls:fast_detach", "FakeTensorProp cannot be run"
)
find_builtin: Callable[[Any], str | None] = private(
    "torch.jit._builtins:_find_builtin",
    "the schemas of builtin functions are unknown",
    lambda: always(None),
)
"""The name of the operator behind a function; None when there is none."""
forward_steps: Callable[[], int] = private(
    "torch.autograd:_get_sequence_nr",
    "nodes do not note autograd's sequence numbers",
    lambda: always(0),
)
"""How many steps autograd has counted in this thread."""
has_effects: Callable[[Any], bool] = private(
    "torch._higher_order_ops.effects:has_effects",
    "dead code elimination keeps all operators",
    lambda: always(value=True),
)
infer_type: Callable[[Any], Any] = private(
    "torch._C:_jit_try_infer_type", "AnnotateTypesWithSchema cannot be run"
)
internal_overlap: Callable[[torch.Tensor], int] = private(
    "torch:_debug_has_internal_overlap",
    "reinplace leaves operators as they are whose inputs may overlap",
    lambda: always(1),
)
"""1 when two elements of a tensor are surely in one place."""
schemas_for_operator: Callable[[str], list[Any]] = private(
    "torch._C:_jit_get_schemas_for_operator",
    "the schemas of builtin functions are unknown",
    lambda: always([]),
)


is_opaque_reference_type: Callable[[type[Any]], bool] = private(
    "torch._library.opaque_object:is_opaque_symbolic_type",
    "",
    lambda: private(
        "torch._library.opaque_object:is_opaque_reference_type",
        "opaque objects cannot be traced",
        lambda: always(value=False),
    ),
)
"""Whether values of a type are kept as attributes, as a program has registered it.

Its first name is the newer one; by the older one torch warns there.
"""
is_opaque_value_type: Callable[[type[Any]], bool] = private(
    "torch._library.opaque_object:is_opaque_constant_type",
    "",
    lambda: private(
        "torch._library.opaque_object:is_opaque_value_type",
        "opaque objects cannot be traced",
        lambda: always(value=False),
    ),
)
"""Whether values of a type stand in code, as a program has registered it."""


def deepcopy_to_fake(module: torch.nn.Module, mode: Any) -> Any:
    """A copy of a module that holds fake tensors."""
    from torch._dynamo import utils  # noqa: PLC0415 - 1 s that few need

    dynamo: Any = utils
    return dynamo.deepcopy_to_fake_tensor(module, mode)


def python_dispatcher() -> AbstractContextManager[Any]:
    """A block in which operators run as their implementations in Python say."""
    from torch._dispatch import python  # noqa: PLC0415 - 50 ms that few need

    return python.enable_python_dispatcher()


def is_impure(target: Any, args: Any, kwargs: Any, *, impure_random: bool) -> bool:
    """Whether torch says that a call does anything besides giving a value.

    Asked at each call: modules of torch and of libraries say so of their functions when
    they are loaded. A torch that has no such question has a set of functions.
    """
    question: Any = getattr(_libraries, "is_impure", None)
    if question is not None:
        given = {"args": args, "kwargs": kwargs, "impure_random": impure_random}
        return bool(question(target, **given))
    return target in getattr(_fx_node, "_side_effectful_functions", ())


def draws_count() -> bool:
    """Whether code that draws random numbers is kept, as a compiler that runs has it."""
    guards: Any = sys.modules.get("torch._guards")
    if guards is None or guards.TracingContext.try_get() is None:
        return True
    return bool(getattr(inductor_settings(), "fallback_random", False))


def dtensor_module() -> Any:
    """The module of distributed tensors; None while nobody has loaded it."""
    return sys.modules.get("torch.distributed.tensor._api")


def inductor_settings() -> Any:
    """Inductor's settings; None while nobody has loaded it, so nobody set any."""
    return sys.modules.get("torch._inductor.config")


def inductor_bisector() -> Any:
    """The search for a pass of Inductor that is wrong; None while it is not loaded."""
    module: Any = sys.modules.get("torch._inductor.compiler_bisector")
    return None if module is None else module.CompilerBisector
