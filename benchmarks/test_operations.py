"""Single operations under pytest-benchmark: for work on one of them.

Each is timed to its end before the next, so compare its numbers with numbers of the same
operation only: `--benchmark-save=before`, a change, `--benchmark-compare`. Ratios to
``torch.fx`` are what ``python -m benchmarks`` measures, in turns.

    pytest benchmarks -k "python_code and GPT" [--benchmark-save=before]
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.cases import Case, cases
from benchmarks.engine import ready
from benchmarks.packages import OURS, THEIRS


@pytest.fixture(scope="session", autouse=True)
def _comparable() -> None:  # pyright: ignore[reportUnusedFunction]  # a fixture
    ready()


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case.operation}: {case.on}") for case in cases()]
)
@pytest.mark.parametrize("fx", [THEIRS, OURS], ids=["torch.fx", "ours"])
def test_operation(benchmark: Any, case: Case, fx: Any) -> None:
    benchmark.group = f"{case.operation}: {case.on}"
    prepare = case.prepare(fx)

    def setup() -> tuple[tuple[Any], dict[str, Any]]:
        return (prepare(),), {}

    benchmark.pedantic(_call, setup=setup, rounds=15 // case.cost + 2, warmup_rounds=1)


def _call(run: Any) -> Any:
    return run()
