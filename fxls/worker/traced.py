"""The graph that our engine makes of an entry's model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from fxls.engine import GraphModule, symbolic_trace
from fxls.worker.guard import Raised, guarded

if TYPE_CHECKING:
    from fxls.worker.evaluate import Model

__all__ = ["traced"]


def traced(model: Model) -> GraphModule:
    """Trace a model for the call that its entry makes; raises what its code raises.

    Where the graph would compute with an input that the call leaves out, it is made
    with what that input is then: the graph of ``Net()(x)`` has nothing of the branch
    ``if targets is not None``. An input that nothing asks for stays free, so that a
    program that traces the model by itself gets the same text.
    """
    if isinstance(model.root, GraphModule):
        return model.root
    left_out = _left_out(model)
    plain = guarded(lambda: symbolic_trace(model.root))
    if not isinstance(plain, Raised):
        nothing = {name: None for name, value in left_out.items() if value is None}
        uses = any(
            node.target in nothing and node.users
            for node in plain.graph.find_nodes(op="placeholder")
        )
        return symbolic_trace(model.root, nothing) if uses else plain
    if left_out and isinstance(plain.error, Exception):
        bound = guarded(lambda: symbolic_trace(model.root, left_out))
        if not isinstance(bound, Raised):
            return bound
    raise plain.error


def _left_out(model: Model) -> dict[str, Any]:
    """The defaults, as far as they are no tensors, of inputs that a call leaves out."""
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
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if name not in given and isinstance(parameter.default, _PLAIN)
    }


_PLAIN = (type(None), bool, int, float, str)
