"""The graph that our engine makes of an entry's model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from fxls.engine import GraphModule, Tracer, symbolic_trace
from fxls.worker.catching import UserRaised, caught

if TYPE_CHECKING:
    from fxls.worker.evaluate import Model

__all__ = ["traced"]


def traced(model: Model) -> GraphModule:
    """Trace a model for the call that its entry makes; raises what its code raises.

    Where the graph would compute with an input that the call leaves out, it is made
    with what that input is then: the graph of ``Net()(x)`` has nothing of the branch
    ``if targets is not None``. An input that nothing asks for stays free, so that a
    program that traces the model by itself gets the same text.

    A model that `symbolic_trace` cannot trace is tried once more with its buffers and
    assertions as nodes. Many transformers have ``self.mask[:, :, :n]`` and
    ``assert n <= self.longest``, where `n` is a proxy.
    """
    if isinstance(model.root, GraphModule):
        return model.root
    left_out = _left_out(model)
    tracer = Tracer()
    plain = caught(lambda: _made(tracer, model))
    if not isinstance(plain, UserRaised):
        nothing = {name: None for name, value in left_out.items() if value is None}
        uses = any(
            node.target in nothing and node.users
            for node in plain.graph.find_nodes(op="placeholder")
        )
        return symbolic_trace(model.root, nothing) if uses else plain
    if not isinstance(plain.error, Exception):
        raise plain.error
    if left_out:
        bound = caught(lambda: symbolic_trace(model.root, left_out))
        if not isinstance(bound, UserRaised):
            return bound
    patient = _Patient()
    whole = caught(lambda: _made(patient, model, left_out))
    if not isinstance(whole, UserRaised):
        return whole
    raise whole.error if _calls(patient) > _calls(tracer) else plain.error


class _Patient(Tracer):
    """Keeps as nodes what could stop a trace."""

    proxy_buffer_attributes = True
    trace_asserts = True


def _made(
    tracer: Tracer, model: Model, fixed: dict[str, Any] | None = None
) -> GraphModule:
    """What `symbolic_trace` makes, by this tracer."""
    graph = tracer.trace(model.root, fixed)
    root = model.root
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _calls(tracer: Tracer) -> int:
    """How far a trace that failed had come."""
    return sum(node.op.startswith("call_") for node in tracer.graph.nodes)


def _left_out(model: Model) -> dict[str, Any]:
    """The inputs that a call leaves out, by their defaults, or by giving None.

    As far as they are no tensors.
    """
    if model.inputs is None:
        return {}
    root = model.root
    forward = root.forward if isinstance(root, torch.nn.Module) else root
    signature = inspect.signature(forward)
    try:
        given = signature.bind(*model.inputs.args, **model.inputs.kwargs).arguments
    except TypeError:  # said when the graph is run on the inputs
        return {}
    return {
        name: given.get(name, parameter.default)
        for name, parameter in signature.parameters.items()
        if given.get(name, parameter) is None
        or (name not in given and isinstance(parameter.default, _PLAIN))
    }


_PLAIN = (type(None), bool, int, float, str)
