"""The names that programs import from FX's module of this name; `tracing.proxy` has most
proxies, and the tracer that they report to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxls.engine.errors import TraceError
from fxls.engine.late_names import late_names
from fxls.engine.origins.module_scopes import Scope, ScopeContextManager
from fxls.engine.tracing.meta_proxy import MetaProxy
from fxls.engine.tracing.parameter_proxy import ParameterProxy
from fxls.engine.tracing.proxy import (
    Attribute,
    GraphAppendingTracer,
    Proxy,
    TracerBase,
    assert_fn,
)

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
    "assert_fn",
]

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
