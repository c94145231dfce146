"""The private parts of torch that the engine uses, by names without an underscore.

A torch that moves one of them is followed here. `torch_fx` and `tracing.torch_wraps` name
what torch.fx has besides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._functorch import predispatch
from torch._guards import detect_fake_mode
from torch._higher_order_ops import effects
from torch._higher_order_ops.torchbind import call_torchbind
from torch._library.fake_class_registry import FakeScriptObject
from torch._library.opaque_object import is_opaque_reference_type, is_opaque_value_type
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses.fake_impls import fast_detach
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.amp import autocast_mode
from torch.utils._dtype_abbrs import dtype_abbrs

__all__ = [
    "COMPILERS",
    "FORWARD_AD",
    "OPERATOR_MODULE",
    "PYTREE_IMPORT",
    "TENSOR_MODULE",
    "FakeScriptObject",
    "FakeTensor",
    "FakeTensorMode",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "ScriptMethod",
    "assert_async",
    "assert_true",
    "boolean_dispatched",
    "call_torchbind",
    "count_dispatch_modes",
    "count_function_modes",
    "deepcopy_to_fake",
    "detect_fake_mode",
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
    "is_opaque_reference_type",
    "is_opaque_value_type",
    "python_dispatcher",
    "pytree",
    "schemas_for_operator",
    "set_grad_enabled",
]

_torch: Any = torch
_C: Any = torch._C
_amp: Any = autocast_mode
_functorch: Any = predispatch
_effects: Any = effects

OPERATOR_MODULE = "torch._ops"
"""The module that operators say they are of; code finds them in ``torch.ops``."""
TENSOR_MODULE = "torch._tensor"
"""The module that methods of tensors say they are of."""
COMPILERS = ("torch._dynamo.", "torch._inductor.")
"""What the names of modules begin with that ``import torch`` does not load."""
PYTREE_IMPORT = "import torch.utils._pytree as pytree"
"""The statement by which a file has what generated code calls ``pytree``."""

# -- what graphs call ------------------------------------------------------------------

assert_true: Callable[..., Any] = _torch._assert
assert_async: Callable[..., Any] = _torch._assert_async
set_grad_enabled: Callable[..., Any] = _C._set_grad_enabled
enter_autocast: Callable[..., Any] = _amp._enter_autocast
exit_autocast: Callable[..., Any] = _amp._exit_autocast
FORWARD_AD: tuple[Callable[..., Any], ...] = (
    _functorch._enter_dual_level,
    _functorch._exit_dual_level,
    _functorch._jvp_increment_nesting,
    _functorch._jvp_decrement_nesting,
)
"""What enters and leaves a level of forward-mode differentiation."""

# -- what is asked of torch ------------------------------------------------------------

ScriptMethod: type[Any] = _C.ScriptMethod
boolean_dispatched: Any = _torch._jit_internal.boolean_dispatched
"""Functions that one bool argument chooses between, by the function that has it."""
count_dispatch_modes: Callable[[], int] = _C._len_torch_dispatch_stack
count_function_modes: Callable[[], int] = _C._len_torch_function_stack
find_builtin: Callable[[Any], str | None] = _torch.jit._builtins._find_builtin
"""The name of the operator behind a function; None when there is none."""
forward_steps: Callable[[], int] = _torch.autograd._get_sequence_nr
"""How many steps autograd has counted in this thread."""
has_effects: Callable[[Any], bool] = _effects.has_effects
infer_type: Callable[[Any], Any] = _C._jit_try_infer_type
internal_overlap: Callable[[torch.Tensor], int] = _torch._debug_has_internal_overlap
"""1 when two elements of a tensor are surely in one place."""
schemas_for_operator: Callable[[str], list[Any]] = _C._jit_get_schemas_for_operator


def deepcopy_to_fake(module: torch.nn.Module, mode: Any) -> Any:
    """A copy of a module that holds fake tensors."""
    from torch._dynamo import utils  # noqa: PLC0415 - 1 s that few need

    dynamo: Any = utils
    return dynamo.deepcopy_to_fake_tensor(module, mode)


def python_dispatcher() -> AbstractContextManager[Any]:
    """A block in which operators run as their implementations in Python say."""
    from torch._dispatch import python  # noqa: PLC0415 - 50 ms that few need

    return python.enable_python_dispatcher()


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
