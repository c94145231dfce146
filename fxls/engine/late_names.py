"""Names that are imported when somebody asks for them.

Those that programs import though torch.fx lists them nowhere are in
`fxls.engine.unlisted`; what a module of torch.fx imports, and a module as
``fx.passes.shape_prop`` that nobody imported, are reached in the same way.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["UNLISTED", "late_modules", "late_names"]

PACKAGE = "fxls.engine"
THEIRS = "torch.fx"

UNLISTED: dict[str, dict[str, tuple[str, ...]]] = {
    "_pytree": {"pytrees": ("TreeSpec", "_deregister_pytree_flatten_spec")},
    "_symbolic_trace": {
        "patches": (
            "HAS_VARSTUFF",
            "_ConstantAttributeType",
            "_Patcher",
            "_autowrap_check",
            "_create_wrapped_func",
            "_find_proxy",
            "_is_fx_tracing_flag",
            "_orig_module_call",
            "_orig_module_getattr",
            "_patch_function",
            "_patch_wrapped_functions",
            "_proxyable_classes",
            "_wrapped_fns_to_patch",
            "_wrapped_methods_to_patch",
        ),
        "arguments": ("map_aggregate",),
    },
    "experimental.const_fold": {"inlining": ("_inline_module",)},
    "graph": {
        "operators": ("inplace_methods", "magic_methods", "reflectable_magic_methods"),
        "graphs": ("_InsertPoint", "_Namespace", "_node_list", "_snake_case"),
        "arguments": ("_get_qualified_name", "_type_repr"),
        "codegens": (
            "_CustomBuiltin",
            "_custom_builtins",
            "_format_target",
            "_is_from_torch",
            "_origin_type_map",
            "_register_custom_builtin",
        ),
    },
    "graph_module": {
        "modules": (
            "_CodeOnlyModule",
            "_assign_attr",
            "_copy_attr",
            "_del_attr",
            "_forward_from_src",
            "_get_attr",
            "_get_attr_via_attr_list",
            "_has_attr",
        ),
        "codegens": ("_WrappedCall", "_exec_with_source", "_format_import_statement"),
    },
    "node": {
        "arguments": (
            "BaseArgumentTypes",
            "_format_arg",
            "_get_qualified_name",
            "_side_effectful_functions",
            "_type_repr",
            "base_types",
        ),
        "codegens": ("_find_module_of_method",),
    },
    "operator_schemas": {"arguments": ("_torchscript_type_to_python_type",)},
    "passes.shape_prop": {"arguments": ("_extract_tensor_metadata",)},
    "proxy": {"arguments": ("Argument", "base_types")},
    "traceback": {"current": ("current_meta",)},
}
"""By module, then by the module of `unlisted` that has the names."""

CHANGING = frozenset({"_is_fx_tracing_flag", "_proxyable_classes", "current_meta"})
"""Names whose values change: each look-up asks anew."""


def late_names(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: finds the unlisted names that are asked of it."""
    places = {
        name: place
        for place, names in UNLISTED.get(module.removeprefix(f"{PACKAGE}."), {}).items()
        for name in names
    }

    def find(name: str) -> Any:
        place = places.get(name)
        if place is None:
            value = _imported_by_theirs(module, name)
        else:
            found = importlib.import_module(f"{PACKAGE}.unlisted.{place}")
            value = getattr(found, name)
        if name not in CHANGING:
            setattr(sys.modules[module], name, value)
        return value

    return find


def _imported_by_theirs(module: str, name: str) -> Any:
    """What the module of torch.fx imports under a name: programs reach it through it.

    What torch.fx defines elsewhere is ours there.
    """
    missing = AttributeError(f"module {module!r} has no attribute {name!r}")
    theirs = sys.modules.get(THEIRS + module.removeprefix(PACKAGE))
    value = vars(theirs).get(name) if theirs else None
    is_module = isinstance(value, ModuleType)
    home = value.__name__ if is_module else getattr(value, "__module__", None)
    if name.startswith("__") or home is None:
        raise missing
    if home != THEIRS and not home.startswith(f"{THEIRS}."):
        return value
    ours = PACKAGE + home.removeprefix(THEIRS)
    if ours == module or importlib.util.find_spec(ours) is None:
        raise missing
    found = importlib.import_module(ours)
    return found if is_module else getattr(found, name)


def late_modules(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: imports the modules that are asked of it."""

    def find(name: str) -> Any:
        path = f"{package}.{name}"
        if name.startswith("__") or importlib.util.find_spec(path) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(path)

    return find
