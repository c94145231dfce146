"""Everything that is measured, in one run: the tables of docs/performance.md.

The engine and ``torch.fx`` take turns in one process (see `measure`); the server is
measured over its pipe.

    python -m benchmarks [--quick] [--part engine|server] [--only WORDS]
                         [--pairs N] [--traces N] [--json PATH] [--write]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.engine import (
    Row,
    chosen_cases,
    compared,
    machine,
    measured_limits,
)
from benchmarks.server import Figure, figures

PAIRS = 15
QUICK_PAIRS = 2
TRACES = 200
"""A minute of them; 1,000 take six, and say the same (see docs/performance.md)."""
QUICK_TRACES = 5


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="less, in under a minute")
    parser.add_argument("--part", choices=("engine", "server"), help="only this half")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--pairs", type=int, help=f"per row; {PAIRS} by default")
    parser.add_argument(
        "--traces", type=int, help=f"by the server; {TRACES} by default"
    )
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the tables, or only these rows, into docs/performance.md",
    )
    chosen = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": machine(), "began": time.strftime("%F %T")}
    if chosen.part != "server":
        found |= _engine(chosen)
    if chosen.part != "engine" and not chosen.only:
        found |= _server(chosen)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


def _engine(chosen: argparse.Namespace) -> dict[str, Any]:
    pairs = chosen.pairs or (QUICK_PAIRS if chosen.quick else PAIRS)
    began = time.process_time()
    rows: list[Row] = []
    cases = chosen_cases(chosen.only, only_quick=chosen.quick)
    for row in compared(cases, pairs, floors=True):
        rows.append(row)
        print(report.line(row.case, row.result), flush=True)
        if chosen.write and chosen.only:
            report.renew(row.case, row.result)
    found: dict[str, Any] = {"engine": [_plain(row) for row in rows]}
    if not chosen.only:
        limits = measured_limits(quickly=chosen.quick)
        print(report.limits_table(limits))
        found["limits"] = dataclasses.asdict(limits)
        if chosen.write:
            table = report.table([(row.case, row.result) for row in rows])
            taken = f"Measured with {machine()}; {pairs} pairs."
            parts = [taken, table, report.floors(), report.limits_table(limits)]
            report.write("engine", parts)
    print(f"{time.process_time() - began:.0f} s of CPU time, {pairs} pairs")
    return found


def _plain(row: Row) -> dict[str, Any]:
    case = row.case
    names = {"operation": case.operation, "on": case.on, "target": case.target}
    return {**names, **dataclasses.asdict(row.result)}


def _server(chosen: argparse.Namespace) -> dict[str, Any]:
    found: list[Figure] = []
    traces = chosen.traces or (QUICK_TRACES if chosen.quick else TRACES)
    for figure in figures(traces, is_quick=chosen.quick):
        found.append(figure)
        print(report.figure_line(figure), flush=True)
    if chosen.write:
        report.write("server", [report.figures_table(found)])
    return {"server": [dataclasses.asdict(figure) for figure in found]}


if __name__ == "__main__":
    main()
