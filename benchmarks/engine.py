"""The engine against ``torch.fx``: the table of docs/performance.md.

The two take turns in one process (see `measure`). Neither pytest-benchmark nor pyperf
can do that: they time one thing to its end before the next, and on a busy machine the
ratio of two such times says more about the machine.

    python -m benchmarks.engine [--quick] [--only WORDS] [--json PATH] [--write]
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import platform
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks import limits, report
from benchmarks.cases import OURS, THEIRS, Case, cases, forget_models
from benchmarks.measure import Comparison, compare

__all__ = ["Row", "compared", "main"]

PAIRS = 15
QUICK_PAIRS = 5
DEEP = 4000
"""The recursion limit while models 200 deep are traced."""


class Row(NamedTuple):
    """A case and what came of it."""

    case: Case
    result: Comparison


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine")
    parser.add_argument("--quick", action="store_true", help="less, in under a minute")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--pairs", type=int, help=f"per row; {PAIRS} by default")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/performance.md"
    )
    chosen = parser.parse_args(arguments)
    pairs = chosen.pairs or (QUICK_PAIRS if chosen.quick else PAIRS)
    began = time.process_time()
    asked = [
        case
        for case in cases()
        if chosen.only in f"{case.operation}: {case.on}"
        and (case.is_quick or not chosen.quick)
    ]
    rows: list[Row] = []
    for row in compared(asked, pairs):
        rows.append(row)
        print(report.line(row.case, row.result), flush=True)
    found = None if chosen.only else measured_limits(is_quick=chosen.quick)
    if found is not None:
        print(report.limits_table(found))
    print(f"{time.process_time() - began:.0f} s of CPU time, {pairs} pairs")
    if chosen.json:
        chosen.json.write_text(json.dumps(as_json(rows, found), indent=1) + "\n")
    if chosen.write:
        assert found is not None, "--write goes with all rows"
        report.write([(row.case, row.result) for row in rows], found, machine())


def ready() -> None:
    """Make the process one in which times can be compared."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    sys.setrecursionlimit(DEEP)
    warnings.simplefilter("ignore")
    gc.collect()
    gc.freeze()


def compared(chosen: Iterable[Case], pairs: int) -> Iterator[Row]:
    """Measure cases, each when the row of the one before it was taken."""
    ready()
    for case in chosen:
        yield _row(case, pairs)


def _row(case: Case, pairs: int) -> Row:
    forget_models()
    return Row(
        case,
        compare(
            case.prepare(THEIRS),
            case.prepare(OURS),
            pairs=max(2, pairs // case.cost),
            repeats=case.repeats,
        ),
    )


def measured_limits(*, is_quick: bool) -> report.Limits:
    """What stands below the table."""
    sizes = (1_000, 10_000) if is_quick else (1_000, 10_000, 100_000)
    return report.Limits(
        bytes_per_node=(limits.bytes_per_node(THEIRS), limits.bytes_per_node(OURS)),
        deepest=(limits.deepest(THEIRS), limits.deepest(OURS)),
        import_seconds=limits.import_seconds(2 if is_quick else 6),
        sizes=sizes,
        growth=limits.exponents(OURS, sizes, 2 if is_quick else 3),
    )


def machine() -> str:
    """What the numbers are of."""
    return (
        f"torch {torch.__version__.partition('+')[0]},"
        f" {platform.python_implementation()} {platform.python_version()},"
        f" {platform.machine()}"
    )


def as_json(rows: Sequence[Row], found: report.Limits | None) -> dict[str, Any]:
    return {
        "machine": machine(),
        "rows": [
            {
                "operation": row.case.operation,
                "on": row.case.on,
                "target": row.case.target,
                **dataclasses.asdict(row.result),
            }
            for row in rows
        ],
        "limits": None if found is None else dataclasses.asdict(found),
    }


if __name__ == "__main__":
    main()
