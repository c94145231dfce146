"""Our tracer beside the installed `torch.fx`, which says what a trace must be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.fx
from torch.fx._symbolic_trace import PH as TORCH_PH
from torch.fx.proxy import TraceError as TorchTraceError

from fxls.engine.graph import Graph
from fxls.engine.tracing.concrete_args import PH
from fxls.engine.tracing.tracer import Tracer

Root = torch.nn.Module | Callable[..., Any]


def assert_traced_alike(root: Root, concrete_args: Any = None) -> Graph:
    """Trace a copy of `root` with both; same nodes, module stacks and code."""
    theirs = torch.fx.Tracer().trace(copy.deepcopy(root), _for_torch(concrete_args))
    ours = Tracer().trace(copy.deepcopy(root), concrete_args)
    assert str(ours) == str(theirs)
    assert [_stack(node) for node in ours.nodes] == [_stack(n) for n in theirs.nodes]
    assert _code(ours) == _code(theirs)
    return ours


def assert_refused_alike(root: Root) -> Exception:
    """Trace `root` with both; the same type of error with a text that begins alike."""
    theirs = _error(torch.fx.Tracer(), copy.deepcopy(root))
    ours = _error(Tracer(), copy.deepcopy(root))
    expected = type(theirs).__mro__[-4:] if _is_fx(theirs) else type(theirs).__mro__
    assert set(expected) - {TorchTraceError} <= set(type(ours).__mro__)
    begin = " ".join(str(theirs).split()[:5])
    assert str(ours).startswith(begin)
    return ours


def _error(tracer: Any, root: Root) -> Exception:
    try:
        graph = tracer.trace(root)
    except Exception as error:  # noqa: BLE001 - compared by the caller
        return error
    raise AssertionError(f"this should not be traceable, but gives {graph}")


def _is_fx(error: Exception) -> bool:
    return type(error).__module__.startswith("torch.fx")


def _code(graph: Any) -> str:
    code: str = graph.python_code("self").src.replace(" ,", ",")
    code = "\n".join(map(str.rstrip, code.split("\n")))
    # The calls that mark wrapped functions.
    code = code.replace("torch.fx._symbolic_trace.wrap", "fxls.engine.wrap")
    return code.replace("torch_fx_", "fxls_engine_")


def _stack(node: Any) -> Any:
    stack = node.meta.get("nn_module_stack")
    return None if stack is None else (type(stack), list(stack.items()))


def _for_torch(concrete_args: Any) -> Any:
    """Our placeholders replaced by those of torch.fx."""
    if concrete_args is PH:
        return TORCH_PH
    if type(concrete_args) is dict:
        items = cast("dict[str, Any]", concrete_args).items()
        return {key: _for_torch(value) for key, value in items}
    if type(concrete_args) in (list, tuple):
        return type(concrete_args)(map(_for_torch, concrete_args))
    return concrete_args
