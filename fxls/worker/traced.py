"""The graph that our engine makes of an entry's model."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch

from fxls.engine import ExampleTracer, GraphModule
from fxls.worker.catching import UserRaised, caught
from fxls.worker.constants import Fixed, constants, examples, is_number
from fxls.worker.module_state import ModuleState
from fxls.worker.same_graph import is_same

if TYPE_CHECKING:
    from fxls.worker.evaluate import Model

__all__ = ["Tracing", "Unbound", "traced"]


@dataclass(frozen=True, slots=True)
class Unbound:
    """Why a graph is not the one of the call that its entry makes."""

    constants: Mapping[str, object]
    """What the call gives, and the graph has as inputs."""
    error: BaseException
    """What the model raised when it was traced with them."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """What came of a trace."""

    graph_module: GraphModule
    unbound: Unbound | None = None


def traced(model: Model) -> Tracing:
    """Trace a model for the call that its entry makes; raises what its code raises.

    What the call gives and holds no tensor is a constant of the graph, also when it is
    a default. As many of these as possible stay inputs, so that a program that traces
    the model by itself gets the same text: all that nothing uses, and the numbers
    whose values nothing asks for. When the model cannot be traced so, these are tried:

    1. with numbers as inputs, and with all as inputs, which the answer then says;
    2. with buffers and assertions as nodes, and all constants. Many transformers have
       ``self.mask[:, :, :n]`` and ``assert n <= self.longest``, where `n` is a proxy;
    3. for the sizes of the call, where it gives inputs, which the graph then asserts.
    """
    if isinstance(model.root, GraphModule):
        return Tracing(model.root)
    attempts = _Attempts(model)
    fixed = constants(model)
    whole = attempts.trace(fixed)
    if isinstance(whole, Fixed):
        return Tracing(attempts.made(_with_most_inputs(attempts, whole, fixed)))
    if not isinstance(whole.error, Exception):
        raise whole.error
    numbers = [name for name, value in fixed.items() if is_number(value)]
    for names in (numbers, list(fixed)):
        if not names:
            continue
        found = attempts.trace(_without(fixed, names))
        if isinstance(found, Fixed):
            freed = {name: fixed[name] for name in names}
            return Tracing(attempts.made(found), Unbound(freed, whole.error))
    patient = attempts.trace(fixed, _Patient)
    if isinstance(patient, Fixed):
        return Tracing(attempts.made(patient))
    failed = [whole, patient]
    if model.inputs is not None:
        by_example = attempts.trace(fixed, partial(_ByExample, examples(model)))
        if isinstance(by_example, Fixed):
            return Tracing(attempts.made(by_example))
        failed.append(by_example)
    raise max(failed, key=lambda one: one.calls).error


class _Patient(Fixed):
    """Keeps as nodes what could stop a trace."""

    proxy_buffer_attributes = True
    trace_asserts = True


class _ByExample(Fixed, ExampleTracer):
    """Takes the sizes of the call where the program asks for one."""

    def __init__(
        self, example_inputs: Mapping[str, object], fixed: Mapping[str, object]
    ) -> None:
        ExampleTracer.__init__(self, example_inputs)
        self._fixed = fixed


@dataclass(frozen=True, slots=True)
class _Failed:
    """A trace that failed."""

    error: BaseException
    calls: int
    """How far it had come."""


class _Attempts:
    """Traces of one model, each of which begins as the first one did."""

    def __init__(self, model: Model) -> None:
        self._root = model.root
        self._before = ModuleState(model.root)
        self._behind: dict[Fixed, ModuleState] = {}
        self._is_first = True

    def trace(
        self,
        fixed: Mapping[str, object],
        kind: Callable[[Mapping[str, object]], Fixed] = Fixed,
    ) -> Fixed | _Failed:
        """A trace with these constants."""
        self._before.restore()
        tracer = kind(fixed)
        quiet = contextlib.nullcontext() if self._is_first else _silence()
        self._is_first = False
        with quiet:
            result = caught(lambda: tracer.trace(self._root))
        if isinstance(result, UserRaised):
            self._before.restore()
            calls = sum(node.op.startswith("call_") for node in tracer.graph.nodes)
            return _Failed(result.error, calls)
        self._behind[tracer] = ModuleState(self._root)
        return tracer

    def made(self, tracer: Fixed) -> GraphModule:
        """The module of a trace, as `symbolic_trace` makes it."""
        # The constants of a graph are attributes that its trace gave the model.
        self._behind[tracer].restore()
        root = self._root
        is_module = isinstance(root, torch.nn.Module)
        name = type(root).__name__ if is_module else root.__name__
        return GraphModule(tracer.root, tracer.graph, name)


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """What the model prints, and warns of, the first trace has said."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _with_most_inputs(
    attempts: _Attempts, whole: Fixed, fixed: Mapping[str, object]
) -> Fixed:
    """The trace that records what `whole` does, with as many inputs as can be."""
    best, bound = whole, dict(fixed)

    def free(names: list[str]) -> bool:
        nonlocal best, bound
        found = attempts.trace(_without(bound, names)) if names else whole
        if not isinstance(found, Fixed) or not is_same(found, whole):
            return False
        if _used(found) & {name for name in names if not is_number(fixed[name])}:
            return False
        best, bound = found, _without(bound, names)
        return True

    def free_parts(names: list[str]) -> None:
        if free(names) or len(names) < _FEW:
            return
        half = len(names) // 2
        free_parts(names[:half])
        free_parts(names[half:])

    if not fixed or free(list(fixed)):
        return best
    free_parts([name for name, value in fixed.items() if is_number(value)])
    if len(whole.graph.nodes) <= _LONG:
        free_parts([name for name, value in fixed.items() if not is_number(value)])
    return best


_FEW = 2
_LONG = 2000
"""Nodes from which on one does not trace ten times."""


def _used(tracer: Fixed) -> set[str]:
    """The inputs that a graph computes with."""
    placeholders = tracer.graph.find_nodes(op="placeholder")
    return {str(node.target).lstrip("*") for node in placeholders if node.users}


def _without(fixed: Mapping[str, object], names: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in fixed.items() if name not in names}
