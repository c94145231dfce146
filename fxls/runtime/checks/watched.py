"""One listing that is watched: what happens behind each of its statements."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from fxls.listing import Listing, Value
from fxls.rules import BrokenRule, OnBreak, Rule
from fxls.runtime.checks.gradients import Gradients
from fxls.runtime.checks.instrumented import InstrumentedCode
from fxls.runtime.checks.rule_break import RuleBreak, deal_with
from fxls.runtime.checks.verdict import deviation, is_finite, not_finite, tensors_of
from fxls.runtime.faults import logging_faults
from fxls.runtime.torch_private import is_dynamo_compiling

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
        self._found: set[tuple[Rule, str]] = set()
        self._run = _Run()
        self._gradients: Gradients | None = None
        if Rule.GRAD_NAN in rules:
            if self._is_backward():
                # The values of a backward graph are the gradients.
                self._rules += () if Rule.NAN in rules else (Rule.GRAD_NAN,)
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

    def checks(self) -> Callable[[str, Any], bool]:
        """What the code calls behind each statement."""
        # Most values are numbers that can be told to be fine in one pass.
        quick = not {Rule.SHAPE, Rule.DTYPE_CHANGE} & set(self._rules)
        judges = bool(self._rules)
        gradients = self._gradients
        run, judge = self._run, self._judge

        def check(name: str, value: Any) -> bool:
            if is_dynamo_compiling():
                return False  # traced by torch.compile, which must not see this
            if not name:
                run.begin()
                if gradients is not None:
                    gradients.begin(value)
                return False
            if gradients is not None and isinstance(value, torch.Tensor):
                gradients.watch(name, value)
            if not judges or (quick and is_finite(value)):
                return False
            with logging_faults("a value cannot be judged"):
                here = inspect.currentframe()
                assert here is not None, "CPython has frames"
                assert here.f_back is not None, "the listing calls"
                return judge(name, value, here.f_back)
            return False

        return check

    def _judge(self, name: str, value: Any, frame: FrameType) -> bool:
        if name not in self.code.statements:
            return False
        for rule in self._rules:
            said = self._broken_by(rule, name, value)
            if said is None:
                continue
            meant = rule is Rule.INF and self.code.statements[name].says_infinite
            is_first = not (meant or self._comes_from_before(rule, name, value, frame))
            self._run.mark(rule, name, value)
            if is_first and (rule, name) not in self._found:
                self._found.add((rule, name))
                rule_break = self._rule_break(rule, name, value, said, frame)
                self._run.error = deal_with(
                    rule_break, self._listing, frame, self._on_break
                )
                if self._run.error is not None:
                    return True
        return False

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
        return RuleBreak(rule, self._path, name, line, said, inputs, {name: value})

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

    def _is_backward(self) -> bool:
        listing = self._listing()
        return listing is not None and "backward" in listing.identity.stage


class _Run(threading.local):
    """What is known, in one thread, of the run of a listing that is under way."""

    def __init__(self) -> None:
        self.error: BrokenRule | None = None
        self.begin()

    def begin(self) -> None:
        """Forget the run before."""
        self.broken: set[tuple[Rule, str]] = set()
        self.dtypes: dict[str, torch.dtype] = {}

    def mark(self, rule: Rule, name: str, value: Any) -> None:
        """Note that a value breaks a rule."""
        self.broken.add((rule, name))
        for tensor in tensors_of(value):
            key = (rule, id(tensor))
            _broken[key] = weakref.ref(tensor, lambda _, key=key: _forget(key, None))

    def is_marked(self, rule: Rule, value: Any) -> bool:
        """Whether a value is one that was found to break a rule, in any listing."""
        return any(
            (known := _broken.get((rule, id(tensor)))) is not None and known() is tensor
            for tensor in tensors_of(value)
        )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


_broken: dict[tuple[Rule, int], weakref.ref[torch.Tensor]] = {}
_forget = _broken.pop
