"""A list of passes over graph modules, run until the graph changes no more."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.passes import schedule
from fxls.engine.passes.infra.pass_base import PassResult
from fxls.engine.passes.schedule import Constraint, Pass

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)

_topological_sort_passes = schedule.solve


def pass_result_wrapper(
    fn: Callable[..., Any] | None,
) -> Callable[..., PassResult | None] | None:
    """A pass made of a function that returns a module, or nothing when it changed it."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm: torch.nn.Module) -> PassResult | None:
        result = fn(gm)
        if result is None:
            return PassResult(gm, modified=True)
        if isinstance(result, PassResult):
            return result
        return (
            PassResult(result, modified=True)
            if isinstance(result, torch.nn.Module)
            else None
        )

    wrapped.__name__ = _name(fn)
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that `this` runs before `that`."""
    return schedule.before(this, that)


class PassManager:
    """Passes over a module, each a callable that returns a `PassResult`.

    - They run in an order that the constraints allow, `steps` times, or until a round
      changes nothing.
    - With `run_checks_after_each_pass`, what `add_checks` got runs behind every pass.
    - What a pass raises becomes an `Exception` that names it and those that ran before.
    """

    def __init__(
        self,
        passes: list[Callable[..., PassResult | None]] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        suppress_check_failures: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        self.passes: list[Callable[..., PassResult | None]] = passes or []
        self.constraints: list[Constraint] = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False
        self._check: Callable[[torch.nn.Module], None] = lambda _module: None

    def add_pass(self, _pass: Callable[..., PassResult | None]) -> None:
        """Run one more pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Demand one more thing of the order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError when a constraint forbids the order of the passes."""
        if not self._validated:
            for constraint in self.constraints:
                schedule.check(self.passes, constraint)
            self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that is allowed; RuntimeError when there is none."""
        self.passes = schedule.solve(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[torch.nn.Module], None]) -> None:
        """Check the module with a function of it, before the passes."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError(
                "PassManager check function should only take in one variable, a module"
            )
        self._check = check

    def check(self, module: torch.nn.Module) -> None:
        """Run the check that `add_checks` got last."""
        self._check(module)

    def __call__(self, module: torch.nn.Module) -> PassResult:
        """Run the passes."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            result = self._round(module)
            module = result.graph_module
            if not result.modified:
                break
            modified = True
        return PassResult(module, modified)

    def _round(self, module: torch.nn.Module) -> PassResult:
        modified = False
        for i, one in enumerate(self.passes):
            with _Step(self.passes, i):
                result = one(module)
                if not hasattr(result, "graph_module"):
                    raise TypeError(
                        f"The result of the pass {_name(one)} should be type"
                        f" PassResult, not {type(result).__name__}. Please wrap it with"
                        " pass_result_wrapper()"
                    )
                assert result is not None, "hasattr said so"
                module = result.graph_module
                modified = modified or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
        return PassResult(module, modified)


class _Step:
    """The run of one pass; says what ran when it fails."""

    def __init__(self, passes: list[Any], at: int) -> None:
        self._names = [_name(one) for one in passes[: at + 1]]
        logger.debug("Running pass '%s'", self._names[-1])

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            *ran, failed = self._names
            raise Exception(
                f"An error occurred when running the '{failed}' pass after the"
                f" following passes: {ran}"
            ) from error


def _name(one: Any) -> str:
    return one.__name__ if inspect.isfunction(one) else type(one).__name__
