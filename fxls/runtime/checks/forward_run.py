"""One run of a listing: its values, and which nodes of autograd are whose."""

from __future__ import annotations

import ast
import threading
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.checks.statements import Statement
from fxls.runtime.checks.verdict import is_ordinary
from fxls.runtime.torch_private import nodes_of_autograd, number_of
from fxls.tensor_view import unseen

__all__ = ["ForwardRun"]


class ForwardRun:
    """Counted while the statements run, and asked while the backward runs."""

    def __init__(
        self, module: Any, call: int, statements: Mapping[str, Statement]
    ) -> None:
        self.values: dict[str, torch.Tensor] = {}
        """Without their history; parameters that are read from the module are not among
        them."""
        self.sizes: dict[str, Any] = {}
        """Sizes, dtypes and devices that were given, or of which the text does not say that
        they are such."""
        self.call = call
        self.leaves: dict[int, str] = {}
        """The names of values that nothing made, by id."""
        self._statements = statements
        self.begins = nodes_of_autograd()
        self.walked: set[int] = set()
        """The nodes that were hooked on a walk."""
        self.astray: list[tuple[int, int]] = []
        """From where to where there are nodes that no value led to."""
        self.is_odd = False
        """Whether a view may make other nodes than those that hand on what they get, or
        those that nothing led to yet."""
        self._module = weakref.ref(module)
        self.names: list[str] = []
        self.ends: list[int] = []
        """By statement: the count of nodes behind it."""
        self._parts: dict[tuple[int, int], str] = {}
        self.span = [self.begins, self.begins]
        self.spans = _spans()
        self.spans.append(self.span)

    @property
    def end(self) -> int:
        """The count of nodes behind the statement that was last."""
        return self.span[1]

    @property
    def is_divided(self) -> bool:
        """Whether a node may be of another statement than the one that ran."""
        return bool(self.astray) or self.spans[-1] is not self.span

    def add(self, name: str, end: int) -> None:
        """Note a statement that made nodes."""
        self.names.append(name)
        self.ends.append(end)
        self.span[1] = end

    def inner(self) -> list[tuple[int, int]]:
        """What listings claimed that this one called since it was asked."""
        spans = self.spans
        found: list[tuple[int, int]] = []
        while spans and spans[-1] is not self.span:
            begin, end = spans.pop()
            if begin >= self.begins and end > begin:
                found.append((begin, end))
        if not spans:
            spans.append(self.span)
        return found

    def note_astray(self, start: int, end: int) -> None:
        """Note that no value led to these nodes."""
        self.astray.append((start, end))
        self.is_odd = True

    def is_astray(self, number: int) -> bool:
        """Whether a node is one of those that no value led to."""
        return any(begin <= number < end for begin, end in self.astray)

    def owns(self, number: int) -> bool:
        """Whether a statement of this run made a node."""
        return self.begins <= number < self.end

    def statement_of(self, number: int) -> str:
        """The name that was bound by the statement that made a node."""
        return self.names[bisect_right(self.ends, number)]

    def is_last(self, name: str, number: int) -> bool:
        """Whether a node is the last that its statement made: that of its value."""
        at = bisect_right(self.ends, number)
        return self.names[at] == name and self.ends[at] == number + 1

    def name_parts(self, name: str, tensors: Sequence[torch.Tensor]) -> None:
        """Note a further name of a value, or the name of a part of one."""
        if len(tensors) == 1 and (node := tensors[0].grad_fn) is not None:
            self._parts.setdefault((number_of(node), tensors[0].output_nr), name)

    def is_read_from_module(self, name: str) -> bool:
        """Whether a parameter is one that its module still has when it is asked for, so
        that nobody has to keep it; a fifth of the tensors of a model may be such.
        """
        return self._statements[name].attribute is not None

    def value_of(self, name: str) -> torch.Tensor | None:
        """What a name was bound to, without its history."""
        value = self.values.get(name)
        if value is None and (parameter := self._parameter(name)) is not None:
            return parameter.data
        statement = self._statements.get(name)
        is_view = statement is not None and statement.is_view
        return self._view(name) if value is None and is_view else value

    def _parameter(self, name: str) -> torch.nn.Parameter | None:
        statement = self._statements.get(name)
        if statement is None or not statement.attribute:
            return None
        found = self._module()
        for part in statement.attribute.split("."):
            found = getattr(found, part, None)
        return found if isinstance(found, torch.nn.Parameter) else None

    def _view(self, name: str) -> torch.Tensor | None:
        """A view that was not kept, made once more of what was."""
        known: dict[str, Any] = {}
        for one in self._behind(name):
            if one in self.sizes:
                known[one] = self.sizes[one]
                continue
            value = self.values.get(one)
            if value is None:
                value = self._parameter(one)
            if value is not None:
                if not is_ordinary(value):
                    return None
                known[one] = value.data
                continue
            expression = self._statements[one].expression
            if expression is None:
                return None
            code = compile(ast.Expression(expression), "<view>", "eval")
            with unseen():
                made = attempt(partial(eval, code, {"torch": torch, **known}))
            if isinstance(made, Raised):
                return None
            known[one] = made
        value = known.get(name)
        return value if isinstance(value, torch.Tensor) else None

    def _behind(self, name: str) -> list[str]:
        """What has to be known to make a view once more, itself included, in order."""
        waiting, found = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one in found or (statement := self._statements.get(one)) is None:
                continue
            found.add(one)
            is_known = one in self.values or one in self.sizes
            if not is_known and statement.expression is not None:
                waiting += statement.reads
        return [one for one in self._statements if one in found]

    def name_of(self, target: Any) -> str:
        """What a person calls the value that a gradient is of."""
        part = self._parts.get((target.number, target.output))
        if part is not None:
            return part
        if self.owns(target.number):
            return self.statement_of(target.number)
        variable = getattr(target.node, "variable", None)
        if id(variable) in self.leaves:
            return self.leaves[id(variable)]
        for name, statement in self._statements.items():
            if statement.attribute and self._parameter(name) is variable is not None:
                return name
        module = self._module()
        if module is not None:
            for name, parameter in module.named_parameters():
                if parameter is variable:
                    return name
        return "an input"


def _spans() -> deque[list[int]]:
    """From where to where the runs of this thread made nodes, the outermost first."""
    try:
        return _thread.spans
    except AttributeError:
        _thread.spans = deque[list[int]](maxlen=256)
        return _thread.spans


_thread = threading.local()
