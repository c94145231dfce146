"""Which parameter of a forward each input of an exported program is.

Parameters and buffers of the model are inputs of a program as well, and stand in no
signature.
"""

from __future__ import annotations

import inspect
import weakref
from dataclasses import dataclass
from types import CodeType
from typing import Any, cast

import torch

from fxls.engine.origins.from_frames import is_source
from fxls.engine.origins.resolve import RawOrigin
from fxls.runtime.torch_private import fx

__all__ = ["Taking", "input_origin", "note_inputs", "note_taking", "taking_of"]


@dataclass(frozen=True, slots=True)
class Taking:
    """How a forward takes what it is called with."""

    code: CodeType
    signature: inspect.Signature
    """Without defaults, which may be large."""

    def parameters(self, spec: Any) -> list[str]:
        """The parameter that each leaf of a call comes by; `spec` is what torch's pytree
        says of the arguments and keyword arguments.
        """
        args, kwargs = spec.children()
        leaves = [one.num_leaves for one in (*args.children(), *kwargs.children())]
        count = args.num_children
        named = {name: count + i for i, name in enumerate(kwargs.context)}
        try:
            # Partial, as it does not know which parameters have defaults.
            bound = self.signature.bind_partial(*range(count), **named)
        except TypeError:  # it is called in another way
            return []
        by_index: dict[int, str] = {}
        for name, taken in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                indices = list(cast("dict[str, int]", taken).values())
            else:
                several = kind is inspect.Parameter.VAR_POSITIONAL
                indices = list(taken) if several else [taken]
            by_index.update(dict.fromkeys(indices, name))
        return [by_index[i] for i, n in enumerate(leaves) for _ in range(n)]


def taking_of(called: Any) -> Taking | None:
    """How a model, a program or a function takes its inputs, as far as that is known."""
    module = getattr(called, "graph_module", called)
    if isinstance(module, fx.GraphModule):
        return _takings.get(module._graph)
    if isinstance(called, torch.nn.Module):
        model = cast("Any", called)
        plain = type(called).__call__ is torch.nn.Module.__call__
        if not plain or model._forward_pre_hooks:
            return None  # they change what it is called with
        called = model.forward
    if not callable(called):
        return None
    code = getattr(inspect.unwrap(called), "__code__", None)
    if not isinstance(code, CodeType) or not is_source(code):
        return None
    signature = inspect.signature(called)
    bare = [p.replace(default=p.empty) for p in signature.parameters.values()]
    if not {p.name for p in bare} <= set(_parameters(code)):
        return None  # somebody made that signature
    # A parameter without a default may not follow one that has one, and none has.
    return Taking(code, signature.replace(parameters=bare))


def note_taking(graph: Any, taking: Taking | None) -> None:
    """Let a graph be one that is called as a forward is."""
    if taking is not None:
        _takings[graph] = taking


def note_inputs(program: Any, taking: Taking | None) -> None:
    """Let the user's inputs of a program have the parameters of a forward as origins."""
    if taking is None:
        return
    graph = program.graph_module._graph
    note_taking(graph, taking)
    placeholders = {n.name: n for n in graph.nodes if n.op == "placeholder"}
    specs = program.graph_signature.input_specs
    given = [spec.arg.name for spec in specs if spec.kind.name == "USER_INPUT"]
    names = taking.parameters(program.call_spec.in_spec)
    if len(names) == len(given):
        for name, parameter in zip(given, names, strict=True):
            if name in placeholders:
                _origins[placeholders[name]] = (taking.code, parameter, None)


def input_origin(node: Any) -> RawOrigin | None:
    """The parameter that an input of a program is; None for other nodes."""
    return _origins.get(node)


def _parameters(code: CodeType) -> tuple[str, ...]:
    variadic = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = sum(bool(code.co_flags & flag) for flag in variadic)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + count]


_takings: weakref.WeakKeyDictionary[Any, Taking] = weakref.WeakKeyDictionary()
"""By the graph of a program, and of its module, how the forward was called."""

_origins: weakref.WeakKeyDictionary[Any, RawOrigin] = weakref.WeakKeyDictionary()
"""By the node of an input."""
