"""The private names of pydevd that each feature of a debugging session needs."""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import sys

from fxls.attempt import Raised, attempt

__all__ = ["FEATURES", "SINCE", "missing"]

_API = "_pydevd_bundle.pydevd_api:PyDevdAPI"
_PYDB = "pydevd:PyDB"
_THREAD = "_pydevd_bundle.pydevd_additional_thread_info"
_WAITS = f"{_THREAD}:PyDBAdditionalThreadInfo.is_in_wait_loop"

FEATURES: dict[str, tuple[str, ...]] = {
    "a client that comes late has all that others have": (
        f"{_PYDB}.initialize_network",
    ),
    "breakpoints follow their nodes": (
        f"{_API}.add_breakpoint",
        f"{_API}.remove_breakpoint",
        "_pydevd_bundle._debug_adapter.pydevd_schema:BreakpointEvent",
        "_pydevd_bundle._debug_adapter.pydevd_schema:BreakpointEventBody",
        "_pydevd_bundle.pydevd_net_command:NetCommand",
    ),
    "breakpoints that are set during the session follow their nodes": (
        f"{_API}.remove_all_breakpoints",
        f"{_API}.set_function_breakpoints",
    ),
    "conditions are judged by fxls": (f"{_PYDB}.handle_breakpoint_condition",),
    "log points say of freed values that they were freed": (
        f"{_PYDB}.handle_breakpoint_expression",
    ),
    "a broken rule stops the program": (
        f"{_THREAD}:set_additional_thread_info",
        _WAITS,
        "_pydevd_bundle.pydevd_comm_constants:CMD_ADD_EXCEPTION_BREAK",
        f"{_PYDB}.set_suspend",
        f"{_PYDB}.do_wait_suspend",
    ),
    "set_trace stops the program": ("pydevd:settrace",),
    "steps leave fxls out": (
        "_pydevd_bundle.pydevd_filtering:FilesFiltering._get_library_roots",
        "_pydevd_bundle.pydevd_filtering:FilesFiltering.set_library_roots",
        "_pydevd_bundle.pydevd_filtering:ExcludeFilter",
        f"{_PYDB}.set_exclude_filters",
        f"{_PYDB}.set_use_libraries_filter",
    ),
    "a step leads into a compiled graph": (
        "_pydevd_bundle.pydevd_comm:internal_step_in_thread",
        "_pydevd_bundle.pydevd_constants:get_current_thread_id",
        f"{_PYDB}._do_wait_suspend",
    ),
    "tensors are shown with their shapes": (
        "_pydevd_bundle.pydevd_extension_api:StrPresentationProvider",
        "_pydevd_bundle.pydevd_extension_api:TypeResolveProvider",
        "_pydevd_bundle.pydevd_extension_utils:extensions_of_type",
    ),
    "variables are shown with their nodes": (
        "_pydevd_bundle.pydevd_suspended_frames:_ObjectVariable.get_var_data",
        "_pydevd_bundle.pydevd_suspended_frames:_FrameVariable.get_children_variables",
    ),
    "expressions may name nodes": (
        "_pydevd_bundle.pydevd_vars:evaluate_expression",
        "_pydevd_bundle.pydevd_vars:ExceptionOnEvaluate",
    ),
}
"""By feature, as ``module:attribute``."""

if sys.version_info >= (3, 12):
    FEATURES["breakpoints in long functions are quick"] = (
        "_pydevd_sys_monitoring._pydevd_sys_monitoring:_code_to_func_code_info_cache",
        "_pydevd_sys_monitoring.pydevd_sys_monitoring:start_monitoring",
    )

SINCE = {_WAITS: "1.8.6"}
"""The first debugpy that has a name; 1.6 has the others."""


def missing() -> dict[str, tuple[str, ...]]:
    """For each feature, what this debugpy lacks; loads pydevd."""
    # It puts pydevd, which is inside of debugpy, on the path, and warns of what slows it.
    with contextlib.redirect_stderr(io.StringIO()):
        found = attempt(
            lambda: importlib.import_module("debugpy._vendored.force_pydevd")
        )
    if isinstance(found, Raised):
        return dict.fromkeys(FEATURES, (f"debugpy cannot be imported: {found.error}",))
    return {
        feature: tuple(
            _lacking(path)
            for path in paths
            if isinstance(attempt(lambda path=path: pkgutil.resolve_name(path)), Raised)
        )
        for feature, paths in FEATURES.items()
    }


def _lacking(path: str) -> str:
    since = f", which debugpy {SINCE[path]} and newer have" if path in SINCE else ""
    return f"debugpy has no {path.replace(':', '.')}{since}"
