"""A list of passes over any object, in an order that constraints allow.

Each pass takes the object and returns the one that the next pass gets. For passes that
return a `PassResult` there is `fxls.engine.passes.infra.pass_manager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from fxls.engine.passes import schedule
from fxls.engine.passes.schedule import Constraint, Pass

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

logger = logging.getLogger(__name__)


def inplace_wrapper(
    fn: Callable[Concatenate[T, P], Any],
) -> Callable[Concatenate[T, P], T]:
    """A pass that returns the object which `fn` was given, and has changed."""

    @wraps(fn)
    def returning(gm: T, *args: P.args, **kwargs: P.kwargs) -> T:
        fn(gm, *args, **kwargs)
        return gm

    return returning


def log_hook(fn: Callable[P, R], level: int = logging.INFO) -> Callable[P, R]:
    """A pass that logs what `fn` returns.

    `inplace_wrapper` drops what a pass returns, so it goes around this one.
    """

    @wraps(fn)
    def logging_pass(*args: P.args, **kwargs: P.kwargs) -> R:
        result = fn(*args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, result)
        return result

    return logging_pass


def loop_pass(
    base_pass: Callable[[T], T],
    n_iter: int | None = None,
    predicate: Callable[[T], bool] | None = None,
) -> Callable[[T], T]:
    """A pass that runs another one `n_iter` times, or as long as `predicate` holds."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError(
            "Exactly one of `n_iter` or `predicate` must be specified."
        )

    @wraps(base_pass)
    def looping(source: T) -> T:
        output = source
        if predicate is not None:
            while predicate(output):
                output = base_pass(output)
        elif n_iter is not None and n_iter > 0:
            for _ in range(n_iter):
                output = base_pass(output)
        else:
            raise RuntimeError(f"loop_pass: n_iter is a positive int, not {n_iter}")
        return output

    return looping


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that `this` runs before `that`."""
    return schedule.before(this, that)


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """The same for passes that are wrapped in the list, as ``loop_pass(these, 3)``."""
    return schedule.unwrapped_before(these, those)


class PassManager:
    """Passes that run one after the other on whatever the one before returned."""

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
    ) -> None:
        self.passes: list[Pass] = passes or []
        self.constraints: list[Constraint] = constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """The passes without constraints."""
        return PassManager(passes)

    def add_pass(self, _pass: Pass) -> None:
        """Run one more pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Demand one more thing of the order."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Drop the passes of these names."""
        self.passes = [one for one in self.passes if one.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Put another pass in the place of those that have the name of `_target`."""
        name = _target.__name__
        self.passes = [
            _replacement if one.__name__ == name else one for one in self.passes
        ]
        self._validated = False

    def validate(self) -> None:
        """Raise RuntimeError when a constraint forbids the order of the passes."""
        if not self._validated:
            for constraint in self.constraints:
                schedule.check(self.passes, constraint)
            self._validated = True

    def __call__(self, source: Any) -> Any:
        """Run the passes."""
        self.validate()
        for one in self.passes:
            source = one(source)
        return source
