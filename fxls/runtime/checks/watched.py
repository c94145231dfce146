"""One listing that is watched: what happens behind each of its statements."""

from __future__ import annotations

import inspect
import itertools
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.listing import Listing, Tensor, Value
from fxls.rules import BrokenRule, OnBreak, Rule
from fxls.runtime.checks.backward_graph import (
    gradients_in,
    is_hidden,
    is_of_backward,
)
from fxls.runtime.checks.gradients import Gradients
from fxls.runtime.checks.instrumented import InstrumentedCode
from fxls.runtime.checks.purpose import (
    bad_state,
    is_empty_memory,
    is_mask,
    is_of_autocast,
    memory_of,
)
from fxls.runtime.checks.rule_break import RuleBreak, deal_with
from fxls.runtime.checks.statements import Statement
from fxls.runtime.checks.verdict import (
    deviation,
    has_no_nan,
    is_finite,
    is_transparent,
    not_finite,
    tensors_of,
)
from fxls.runtime.faults import logging_faults
from fxls.runtime.torch_private import is_dynamo_compiling
from fxls.watch_tally import tally

__all__ = ["CheckedListing"]


class CheckedListing:
    """Judges the values of one listing, in every thread.

    - A node is found once for each rule: when its value breaks the rule and no value
      that went into it does.
    """

    def __init__(
        self,
        path: Path,
        code: InstrumentedCode,
        rules: tuple[Rule, ...],
        on_break: OnBreak,
        instances: Callable[[], tuple[Listing, ...]],
    ) -> None:
        """`instances` reads what the store knows of the listing, newest first."""
        self.code = code
        self._path = path
        self._rules = tuple(rule for rule in rules if rule is not Rule.GRAD_NAN)
        self._on_break = on_break
        self._instances = instances
        self._recorded: tuple[Mapping[str, Value], ...] | None = None
        self._read: tuple[Listing, ...] | None = None
        self._found: _Found = set()
        self._run = _Run()
        self._gradients: Gradients | None = None
        self._gradient_names: frozenset[str] = frozenset()
        """Of a backward graph: which of its values are gradients."""
        if Rule.GRAD_NAN in rules:
            if is_of_backward(self._listing()):
                # NaN among what the forward kept was found when the forward made it.
                others = (rule for rule in self._rules if rule is not Rule.NAN)
                self._rules = (*others, Rule.GRAD_NAN)
                self._gradient_names = gradients_in(code.statements)
            else:
                self._gradients = Gradients(path, code, self._listing, on_break)

    def stop(self) -> None:
        """Watch no more, also not what a backward will make of values of before."""
        if self._gradients is not None:
            self._gradients.stop()

    def broken(self) -> BrokenRule:
        """The exception that `checks` asked to have raised."""
        error = self._run.error
        assert error is not None, "only then it is asked for"
        self._run.error = None
        return error

    def asks(self) -> Callable[[str], bool]:
        """What the code calls behind a view; true to have it checked as other values."""
        run = self._run
        if self._gradients is not None:
            return self._gradients.asks(run)
        return lambda _name: not is_dynamo_compiling() and not run.is_sound

    def checks(self) -> Callable[[str, Any], bool]:
        """What the code calls behind each statement."""
        # Most values are numbers that can be told to be fine in one pass.
        quick = not {Rule.SHAPE, Rule.DTYPE_CHANGE} & set(self._rules)
        is_fine = is_finite if Rule.INF in self._rules else has_no_nan
        judges = bool(self._rules)
        handing_on = self.code.handing_on if quick else frozenset[str]()
        only_nan = quick and Rule.INF not in self._rules
        making_no_nan = self.code.making_no_nan if only_nan else frozenset[str]()
        gradients = self._gradients
        watch = None if gradients is None else gradients.watch
        run, judge = self._run, self._judge
        calls = itertools.count(1)

        def check(name: str, value: Any) -> bool:
            if is_dynamo_compiling():
                return False  # traced by torch.compile, which must not see this
            if not name:
                tally.calls += 1
                call = next(calls)
                run.begin(value, call)
                if gradients is not None:
                    gradients.begin(value, call)
                return False
            if watch is not None:
                watch(name, value)
            if not judges or (name in handing_on and run.is_sound):
                return False
            if (
                name in making_no_nan
                and run.is_sound
                and type(value) is torch.Tensor
                and not value.is_complex()
            ):
                return False
            if quick and is_fine(value):
                return False
            with logging_faults("a value cannot be judged"):
                here = inspect.currentframe()
                assert here is not None, "CPython has frames"
                assert here.f_back is not None, "the listing calls"
                return judge(name, value, here.f_back)
            return False

        return check

    def _judge(self, name: str, value: Any, frame: FrameType) -> bool:
        statement = self.code.statements.get(name)
        if statement is None:
            return False
        if not is_transparent(value):
            self._run.is_sound = False
        for rule in self._rules:
            said = self._broken_by(rule, name, value)
            if said is None:
                continue
            self._run.is_sound = False
            if rule is Rule.GRAD_NAN and name not in self._gradient_names:
                continue
            if self._is_empty(statement, rule, value):
                continue
            is_known = self._comes_from_before(rule, name, value, frame)
            if (
                rule is Rule.GRAD_NAN
                and not is_known
                and is_hidden(self._listing(), name)
            ):
                self._run.hidden.add((rule, name))
                continue
            is_first = not (self._is_meant(statement, rule, name, value) or is_known)
            self._run.mark(rule, name, value)
            if is_first:
                # Of what reads a hidden value one is named, and not each of them.
                read = {(rule, one) for one in statement.reads}
                self._run.broken |= read & self._run.hidden
            found, what, said = self._to_blame(statement, rule, name, value, said)
            if is_first and (rule, what) not in found:
                found.add((rule, what))
                rule_break = self._rule_break(rule, name, value, said, frame)
                self._run.error = deal_with(
                    rule_break, self._listing, frame, self._on_break
                )
                if self._run.error is not None:
                    return True
        return False

    def _is_empty(self, statement: Statement, rule: Rule, value: Any) -> bool:
        """Whether numbers are what was in memory before, and nobody has read them."""
        if rule not in _OF_NUMBERS:
            return False
        if statement.leaves_empty:
            self._run.empty |= memory_of(value)
        return is_empty_memory(value, self._run.empty)

    def _is_meant(
        self, statement: Statement, rule: Rule, name: str, value: Any
    ) -> bool:
        """Whether a value is as somebody wanted it."""
        if rule is Rule.INF:
            return is_mask(statement, value, self._run.part(statement))
        if rule is Rule.DTYPE_CHANGE:
            cast, dtypes = self._run.cast, self._run.dtypes
            given = {dtypes[read] for read in statement.reads if read in dtypes}
            recorded = {known[name] for known in self._values() if name in known}
            others = given | {
                dtype
                for known in recorded
                if isinstance(known, Tensor)
                and isinstance(dtype := getattr(torch, known.dtype, None), torch.dtype)
            }
            if is_of_autocast(value, others):
                cast.add(name)
                return True
            # What autocast made goes on behind it, with all that it is added to.
            return not cast.isdisjoint(statement.reads) and (
                {getattr(value, "dtype", None), *given} <= _SINGLE_AND_LESS
            )
        return False

    def _to_blame(
        self, statement: Statement, rule: Rule, name: str, value: Any, said: str
    ) -> tuple[_Found, str, str]:
        """Of a node, or of what it reads: where to note that it was found, its name
        there, and what to say.
        """
        if rule in _OF_NUMBERS:
            part = self._run.part(statement)
            path = self._path_of(name) if statement.is_given else None
            state = bad_state(rule, statement, value, part, path)
            module = self._run.module()
            if state is not None and module is not None:
                known = _bad_states.setdefault(module, {})
                return known.setdefault(self._on_break, set()), *state
            if state is not None:
                return self._found, *state
        return self._found, name, said

    def _path_of(self, name: str) -> str | None:
        """What the program calls a parameter or buffer that is given, without `self`."""
        nodes = () if (listing := self._listing()) is None else listing.nodes
        details = (node.detail for node in nodes if node.name == name)
        path = next(details, None)
        return None if path is None else path.removeprefix("self.")

    def _broken_by(self, rule: Rule, name: str, value: Any) -> str | None:
        if rule in (Rule.NAN, Rule.INF, Rule.GRAD_NAN):
            said = [not_finite(rule, one) for one in tensors_of(value)]
            if isinstance(value, float):
                said = [not_finite(rule, value)]
            return next(filter(None, said), None)
        recorded = [known[name] for known in self._values() if name in known]
        said = [deviation(rule, value, known) for known in recorded]
        if said and all(said):
            return said[0]
        if rule is not Rule.DTYPE_CHANGE:
            return None
        # What is recorded may be what is wrong: hardly anybody wants double precision.
        changed = self._changed(name, value)
        return (
            changed
            if not said or getattr(value, "dtype", None) is torch.float64
            else None
        )

    def _changed(self, name: str, value: Any) -> str | None:
        """How a floating dtype differs from those of the inputs."""
        # A tensor without dimensions takes part as a number does, and decides nothing.
        if (
            not isinstance(value, torch.Tensor)
            or not value.is_floating_point()
            or value.dim() == 0
        ):
            return None
        dtypes = self._run.dtypes
        dtypes[name] = value.dtype
        statement = self.code.statements[name]
        given = {dtypes[read] for read in statement.reads if read in dtypes}
        if given <= {value.dtype} or statement.casts:
            return None
        names = " and ".join(sorted(_name(dtype) for dtype in given))
        return f"dtype {_name(value.dtype)}, where its inputs are {names}"

    def _comes_from_before(
        self, rule: Rule, name: str, value: Any, frame: FrameType
    ) -> bool:
        """Whether the value was found already, or broken values went into it."""
        run = self._run
        reads = self.code.statements[name].reads
        if any((rule, read) in run.broken for read in reads):
            return True
        # A value that another listing returned, or one that was changed in place since
        # its name was bound; what this node changes itself is the same object.
        here = frame.f_locals
        known = [value, *(here.get(read) for read in reads)]
        return any(run.is_marked(rule, one) for one in known)

    def _rule_break(
        self, rule: Rule, name: str, value: Any, said: str, frame: FrameType
    ) -> RuleBreak:
        statement = self.code.statements[name]
        here = frame.f_locals
        inputs = {read: here[read] for read in statement.reads if read in here}
        line = statement.line
        return RuleBreak(
            *(rule, self._path, name, line, said, inputs, {name: value}),
            call=self._run.call,
        )

    def _values(self) -> tuple[Mapping[str, Value], ...]:
        """What is recorded of the values, by name, for each instance that has any."""
        if self._recorded is None:
            found = [
                {f.name: f.value for f in listing.nodes if f.value is not None}
                for listing in self._listings()
            ]
            self._recorded = tuple(filter(None, found))
        return self._recorded

    def _listing(self) -> Listing | None:
        return next(iter(self._listings()), None)

    def _listings(self) -> tuple[Listing, ...]:
        if self._read is None:
            self._read = self._instances()
        return self._read


class _Run(threading.local):
    """What is known, in one thread, of the run of a listing that is under way."""

    def __init__(self) -> None:
        self.error: BrokenRule | None = None
        self.begin(None, 0)

    def begin(self, module: Any, call: int) -> None:
        """Forget the run before."""
        self.call = call
        self.module: Callable[[], Any] = (
            weakref.ref(module) if isinstance(module, torch.nn.Module) else _nothing
        )
        self.empty: set[int] = set()
        """Where there is memory of which nobody has read."""
        self.cast: set[str] = set()
        """The names of values that have their dtype from autocast."""
        self.broken: set[tuple[Rule, str]] = set()
        self.hidden: set[tuple[Rule, str]] = set()
        """Values that break a rule, which is not the doing of the node that gave them."""
        self.is_sound = True
        """Whether no value broke a rule, and none can give numbers that are not seen."""
        self.dtypes: dict[str, torch.dtype] = {}

    def mark(self, rule: Rule, name: str, value: Any) -> None:
        """Note that a value breaks a rule."""
        self.broken.add((rule, name))
        for tensor in tensors_of(value):
            key = (rule, id(tensor))
            _broken[key] = weakref.ref(tensor, lambda _, key=key: _forget(key, None))

    def part(self, statement: Statement) -> torch.nn.Module | None:
        """The submodule that a statement calls; None of a listing of its own."""
        module = self.module()
        if not statement.module or module is None:
            return None
        part = attempt(lambda: module.get_submodule(statement.module))
        return None if isinstance(part, Raised) or hasattr(part, "graph") else part

    def is_marked(self, rule: Rule, value: Any) -> bool:
        """Whether a value is one that was found to break a rule, in any listing."""
        return any(
            (known := _broken.get((rule, id(tensor)))) is not None and known() is tensor
            for tensor in tensors_of(value)
        )


def _nothing() -> None:
    return None


_OF_NUMBERS = (Rule.NAN, Rule.INF, Rule.GRAD_NAN)
_SINGLE_AND_LESS = {torch.float32, torch.float16, torch.bfloat16}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


_Found = set[tuple[Rule, str]]
"""Nodes by their names, parameters and buffers by their paths."""

_bad_states: weakref.WeakKeyDictionary[torch.nn.Module, dict[OnBreak, _Found]]
_bad_states = weakref.WeakKeyDictionary()
"""The parameters and buffers of modules that were reported as bad, in each way.

They outlast the rules that are set: who sets rules again is not told again. Who wants
errors in place of reports has not had any.
"""

_broken: dict[tuple[Rule, int], weakref.ref[torch.Tensor]] = {}
_forget = _broken.pop
