"""What the graphs that torch.compile captures are called after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CodeType
from typing import Any

import torch

from fxls.engine.written_class import written_class
from fxls.record.trace_texts import is_wrapper
from fxls.runtime.producers.places.stack_traces import resumed
from fxls.runtime.torch_private import fx

__all__ = ["CompiledRoots"]


class CompiledRoots:
    """Module and qualified name of what Dynamo compiles."""

    def __init__(self, root_of: Callable[[Any], tuple[str, str] | None]) -> None:
        """`root_of` tells what a graph module was made of."""
        self._root_of = root_of
        self._owners: dict[tuple[str, str], tuple[str, str]] = {}
        """By file and function, the class of the module whose method it is."""

    def of(self, translator: Any) -> tuple[str, str]:
        """The class whose forward Dynamo runs, or the function."""
        code, values = translator.f_code, translator.f_locals
        if is_wrapper(code.co_filename):
            called = values.get("fn", values.get("func"))
            if called is not None:
                return self._of_called(called)
        function = resumed(code.co_qualname)
        owner = _owner(code, values)
        if owner is not None:
            root = self._of_called(owner)
            self._owners[code.co_filename, function] = root
            return root
        # Behind a graph break `self` is there only if the rest of the function needs it.
        plain = (str(translator.f_globals.get("__name__", "")), function)
        return self._owners.get((code.co_filename, function), plain)

    def _of_called(self, called: Any) -> tuple[str, str]:
        if isinstance(called, fx.GraphModule) and (root := self._root_of(called)):
            return root
        if isinstance(called, torch.nn.Module):
            kind = written_class(type(called))
            generated = isinstance(called, fx.GraphModule)
            return kind.__module__, kind.__name__ if generated else kind.__qualname__
        module = getattr(called, "__module__", None) or torch.__name__
        if isinstance(called, BuiltinFunctionType):  # its other name is one of C
            return module, called.__name__
        return module, getattr(called, "__qualname__", type(called).__qualname__)


def _owner(code: CodeType, values: Mapping[str, Any]) -> torch.nn.Module | None:
    """The module whose method code is of; None for a function, which may get one."""
    first = values.get(code.co_varnames[0]) if code.co_argcount else None
    kind = code.co_qualname.rpartition(".")[0]
    if kind and not kind.endswith("<locals>"):
        # Behind a graph break the order of the arguments is torch's.
        for value in (first, *values.values()):
            if isinstance(value, torch.nn.Module) and kind in _names_of(value):
                return value
    if isinstance(first, torch.nn.Module):  # as for a decorated method
        named = (code.co_filename, resumed(code.co_name))
        for members in (*map(vars, type(first).__mro__), vars(first)):
            for member in members.values():
                own = getattr(member, "__code__", None)
                if own is not None and (own.co_filename, own.co_name) == named:
                    return first
    return None


def _names_of(module: torch.nn.Module) -> set[str]:
    """The names of a module's class, and of those that it inherits from."""
    return {kind.__qualname__ for kind in type(module).__mro__}
