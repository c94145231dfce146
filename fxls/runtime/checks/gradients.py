"""The gradients of the values of a listing, watched while the backward runs.

The gradient of a value is made by the backward of the nodes that use the value. So when
one is NaN and those of its users are not, the backward of a user made it so, and that
user is the node to look at.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from fxls.listing import Listing
from fxls.rules import OnBreak, Rule
from fxls.runtime.checks.instrumented import InstrumentedCode
from fxls.runtime.checks.rule_break import RuleBreak, deal_with
from fxls.runtime.checks.verdict import is_finite, not_finite
from fxls.runtime.faults import logging_faults
from fxls.runtime.torch_private import changes_of, is_recording

__all__ = ["Gradients"]


class Gradients:
    """Finds the node whose backward makes NaN of gradients that are none.

    - Every value that needs a gradient is held, without its history, for as long as
      its history lives: the inputs of the node that is found are wanted.
    """

    def __init__(
        self,
        path: Path,
        code: InstrumentedCode,
        listing: Callable[[], Listing | None],
        on_break: OnBreak,
    ) -> None:
        self._path = path
        self._code = code
        self._listing = listing
        self._on_break = on_break
        self._thread = threading.local()
        self._leaves: dict[int, tuple[weakref.ref[torch.Tensor], _Latest]] = {}
        self._modules: weakref.WeakKeyDictionary[Any, list[_Latest]] = (
            weakref.WeakKeyDictionary()
        )
        self._hooks: list[Any] = []
        self._found: set[str] = set()
        self._is_over = False

    def begin(self, module: Any) -> None:
        """Let the values from now on be those of another run of a module's code."""
        self._thread.run = run = _Run()
        for latest in self._parameters_of(module):
            latest.set(run, latest.name)

    def watch(self, name: str, value: torch.Tensor) -> None:
        """Look at the gradient of a node's value, when there will be one."""
        if is_recording():
            return
        run: _Run | None = getattr(self._thread, "run", None)
        if run is None or not torch.is_grad_enabled():
            return  # nobody watched when the run began, or it has no backward
        if not value.requires_grad:
            run.values[name] = value.detach()
            return
        if run.has(value):
            run.aliases.add(name)  # as ``contiguous`` gives one
            return
        run.add(name, value)
        if value.grad_fn is not None:
            _on_gradient(value, lambda gradient: self._arrived(run, name, gradient))
            return
        # The hooks of a leaf outlive the run.
        key = id(value)
        known = self._leaves.get(key)
        if known is None or known[0]() is not value:
            latest = _Latest(run, name)
            forget = self._leaves.pop
            ref = weakref.ref(value, lambda _: forget(key, None))
            self._leaves[key] = (ref, latest)
            self._hooks.append(
                _on_gradient(value, lambda gradient: self._arrived_at(latest, gradient))
            )
        else:
            known[1].set(run, name)

    def stop(self) -> None:
        """Look at no gradient any more."""
        self._is_over = True
        while self._hooks:
            self._hooks.pop().remove()

    def _parameters_of(self, module: Any) -> Sequence[_Latest]:
        """What stands for the parameters of the submodules that are called."""
        known = self._modules.get(module)
        if known is None:
            known = self._modules[module] = []
            with logging_faults("the gradients of parameters are not watched"):
                for name, statement in self._code.statements.items():
                    if statement.module:
                        part = module.get_submodule(statement.module)
                        if not hasattr(part, "graph"):  # that has a listing of its own
                            self._hook_parameters(name, statement.module, part, known)
        return known

    def _hook_parameters(
        self, node: str, path: str, part: Any, known: list[_Latest]
    ) -> None:
        for name, parameter in part.named_parameters(path):
            if parameter.requires_grad and id(parameter) not in self._leaves:
                latest = _Latest(_Run(), node)
                known.append(latest)
                self._leaves[id(parameter)] = (weakref.ref(parameter), latest)
                self._hooks.append(
                    _on_gradient(parameter, self._of_parameter(latest, name))
                )

    def _of_parameter(
        self, latest: _Latest, name: str
    ) -> Callable[[torch.Tensor], None]:
        def arrived(gradient: torch.Tensor) -> None:
            run = latest.run()
            if self._is_over or run is None or is_finite(gradient):
                return
            error = None
            with logging_faults("a gradient cannot be judged"):
                said = not_finite(Rule.GRAD_NAN, gradient)
                if said is not None and not self._is_bad(run, latest.name):
                    run.came(name, gradient)
                    error = self._find(run, name, (latest.name,), said)
            if error is not None:
                raise error

        return arrived

    def _arrived_at(self, latest: _Latest, gradient: torch.Tensor) -> None:
        run = latest.run()
        if run is not None:
            self._arrived(run, latest.name, gradient)

    def _arrived(self, run: _Run, name: str, gradient: torch.Tensor) -> None:
        if self._is_over:
            return
        if is_finite(gradient):
            run.came(name, None)
            return
        error = None
        with logging_faults("a gradient cannot be judged"):
            said = not_finite(Rule.GRAD_NAN, gradient)
            run.came(name, gradient, is_nan=said is not None)
            users = self._users(run, name)
            if said is not None and not any(self._is_bad(run, u) for u in users):
                error = self._find(run, name, users, said)
        if error is not None:
            raise error

    def _users(self, run: _Run, name: str) -> tuple[str, ...]:
        """The nodes that use a value, by any of its names."""
        found: dict[str, None] = {}
        for user in self._code.users.get(name, ()):
            named = self._users(run, user) if user in run.aliases else (user,)
            found.update(dict.fromkeys(named))
        return tuple(found)

    def _is_bad(self, run: _Run, name: str) -> bool:
        """Whether the gradient of a node, or those that it was made of, are NaN."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in run.bad:
                return True
            if one not in run.arrived and one not in seen:
                seen.add(one)
                waiting.extend(self._code.users.get(one, ()))
        return False

    def _find(
        self,
        run: _Run,
        name: str,
        users: tuple[str, ...],
        said: str,
    ) -> Exception | None:
        node, more = name, ()
        if users:
            node = users[-1]
            said = f"its backward makes a gradient of {name}, of which {said}"
            if len(users) > 1:
                names = ", ".join(users[:-1])
                more = (f"or the backward of {names}, which use {name} as well",)
        else:
            said = f"the gradient that comes to it from outside is bad: {said}"
        if node in self._found:
            return None
        self._found.add(node)
        statement = self._code.statements[node]
        values = run.values
        inputs = {read: values[read] for read in statement.reads if read in values}
        outputs = {node: values[node]} if node in values else {}
        for one in (node, name):
            if one in run.arrived and (gradient := run.arrived[one]) is not None:
                outputs[f"grad_{one.replace('.', '_')}"] = gradient
        rule_break = RuleBreak(
            Rule.GRAD_NAN,
            *(self._path, node, statement.line, said, inputs, outputs, more),
        )
        return _in_frame(rule_break, self._listing, self._on_break)


def _on_gradient(value: Any, hook: Callable[[torch.Tensor], None]) -> Any:
    """Call a hook with the gradient of a value; what is returned can be removed."""
    return value.register_hook(hook)


class _Run:
    """One run of a listing: its values, and the gradients that have come."""

    def __init__(self) -> None:
        self.values: dict[str, torch.Tensor] = {}
        self.arrived: dict[str, torch.Tensor | None] = {}
        """The gradients that have come; None for one that is finite."""
        self.bad: set[str] = set()
        """The names of those that are NaN."""
        self.aliases: set[str] = set()
        """The further names of values that have one."""
        self._seen: dict[tuple[int, int], weakref.ref[torch.Tensor]] = {}

    def has(self, value: torch.Tensor) -> bool:
        """Whether a value has a name already, and was not changed in place since."""
        known = self._seen.get((id(value), changes_of(value)))
        return known is not None and known() is value

    def came(
        self, name: str, gradient: torch.Tensor | None, *, is_nan: bool = False
    ) -> None:
        """Note the gradient of a value."""
        self.arrived[name] = None if gradient is None else gradient.detach()
        if is_nan:
            self.bad.add(name)

    def add(self, name: str, value: torch.Tensor) -> None:
        """Note a value."""
        self._seen[id(value), changes_of(value)] = weakref.ref(value)
        self.values[name] = value.detach()


class _Latest:
    """The last run that used a leaf, and the name that it has there."""

    def __init__(self, run: _Run, name: str) -> None:
        self.set(run, name)

    def set(self, run: _Run, name: str) -> None:
        """Let it be this one."""
        self.run = weakref.ref(run)
        self.name = name


def _in_frame(
    rule_break: RuleBreak, listing: Callable[[], Listing | None], on_break: OnBreak
) -> Exception | None:
    """Deal with it in a frame on the node's line, which has the values as locals.

    The frame of the forward is gone by then.
    """
    error: list[Exception | None] = []

    def stop(frame: FrameType) -> None:
        error.append(deal_with(rule_break, listing, frame, on_break))

    values = {**rule_break.inputs, **rule_break.outputs}
    _frame(rule_break, values, stop)(**values)
    return error[0]


def _frame(
    rule_break: RuleBreak, names: Iterable[str], stop: Callable[[FrameType], None]
) -> Callable[..., None]:
    """A function of these parameters that calls `stop` from the line of the node."""
    head = f"def backward({', '.join(names)}): {_STOP}({_HERE}())"
    text = "\n" * (rule_break.line - 1) + head
    code = compile(text, str(rule_break.path), "exec", dont_inherit=True)
    values: dict[str, Any] = {_STOP: stop, _HERE: inspect.currentframe}
    exec(code, values)
    made = values["backward"]
    made.__code__ = made.__code__.replace(co_name=f"backward of {rule_break.node}")
    return made


_STOP, _HERE = "__fxls_stop__", "__fxls_here__"
