"""What fxls costs a compilation: the same with and without it, in turns, in one process.

"With" is all of fxls: listings, the record, and a revision for each pass that changed a
graph, until all of it is on the disk. CPU time counts, of this process and of those that
it waited for, because inductor lets a C++ compiler run.

    python -m benchmarks.compiling [--only WORDS] [--pairs N] [--write]
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import statistics
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch

import fxls
from benchmarks.models import Gpt
from benchmarks.overhead import PAGE
from fxls.runtime import finish

__all__ = ["Row", "main", "table"]

_any: Any = cast("Any", torch)

_BEGIN = "<!-- benchmarks.compiling: begin -->"
_END = "<!-- benchmarks.compiling: end -->"


@dataclass(frozen=True, slots=True)
class Case:
    """Something that torch does, and how many pairs of it there are."""

    name: str
    make: Callable[[], Callable[[], object]]
    """Makes ready what is timed, on either side."""
    around: Callable[[], AbstractContextManager[Any]]
    pairs: int
    most: float
    """How much more it may be, as a part of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """The CPU time of both sides, in seconds, and the ratios of the pairs."""

    case: Case
    without: float
    within: float
    low: float
    middle: float
    high: float


def _cases() -> list[Case]:
    from torch._inductor.utils import fresh_cache  # noqa: PLC0415 - takes a while

    _any.manual_seed(0)
    model = Gpt(2, 64, 4)
    tokens = torch.randint(32, (4, 4))
    ready: dict[str, Any] = {}

    def training(backend: str, *, again: bool = True) -> Callable[[], None]:
        if again or backend not in ready:
            _any.compiler.reset()
            ready[backend] = _any.compile(model, backend=backend)
        run = ready[backend]

        def step() -> None:
            model.zero_grad()
            run(tokens).sum().backward()

        return step

    def stepping() -> Callable[[], None]:
        step = training("inductor")
        step()
        finish()

        def steps() -> None:
            for _ in range(200):
                step()

        return steps

    kept = fresh_cache()
    fresh: Callable[[], Any] = fresh_cache

    def warm() -> Callable[[], None]:
        return training("inductor")

    def in_kept() -> AbstractContextManager[Any]:
        if "kept" not in ready:
            kept.__enter__()
            ready["kept"] = kept
        return nullcontext()

    return [
        Case(
            "backend eager, forward and backward",
            lambda: training("eager"),
            nullcontext,
            15,
            0.05,
        ),
        Case(
            "backend aot_eager, forward and backward",
            lambda: training("aot_eager"),
            nullcontext,
            15,
            0.05,
        ),
        Case("inductor, cold", lambda: training("inductor"), fresh, 5, 0.05),
        Case("inductor, from a warm cache", warm, in_kept, 11, 0.05),
        Case("200 steps of what inductor compiled", stepping, in_kept, 11, 0.01),
    ]


def measured(case: Case, root: Path, pairs: int) -> Row:
    """Both sides in turns; each is first in every other pair."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(pairs + 1):
        for is_within in (turn % 2 == 0, turn % 2 == 1):
            took = _once(case, root, is_within=is_within)
            if turn:  # the first pair fills what all share
                times[is_within].append(took)
    ratios = [b / a for a, b in zip(times[False], times[True], strict=True)]
    low, middle, high = (
        statistics.quantiles(ratios, n=4, method="inclusive")
        if len(ratios) > 1
        else (ratios[0],) * 3
    )
    return Row(
        case,
        statistics.median(times[False]),
        statistics.median(times[True]),
        *(low, middle, high),
    )


def _once(case: Case, root: Path, *, is_within: bool) -> float:
    fxls.uninstall()
    if is_within:
        fxls.install(root)
    with case.around():
        run = case.make()
        gc.collect()
        began = _spent()
        run()
        finish()
        return _spent() - began


def _spent() -> float:
    """The CPU time of this process, and of those that it waited for."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, both))


def table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [
        "| a compilation | without | with fxls | more | quartiles | pairs | goal | |",
        "|---|---:|---:|---:|---|---:|---|---|",
    ]
    for row in rows:
        most = row.case.most
        mark = "" if row.middle <= 1 + most else "above"
        lines.append(
            f"| {row.case.name} | {row.without:.2f} s | {row.within:.2f} s |"
            f" {_more(row.middle)} | {_more(row.low)} to {_more(row.high)} |"
            f" {row.case.pairs} | at most {most * 100:.0f} % | {mark} |"
        )
    return "\n".join(lines)


def _more(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def _write(text: str) -> None:
    page = PAGE.read_text("utf-8")
    between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
    assert between.search(page), f"{PAGE} has no markers"
    PAGE.write_text(between.sub(lambda _: f"{_BEGIN}\n{text}\n{_END}", page), "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiling")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--pairs", type=int, help="for each row")
    parser.add_argument("--write", action="store_true", help="into docs/overhead.md")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    # Its own workers would compile, and nobody waits for those.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    torch.set_num_threads(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as root:
        for case in _cases():
            if options.only in case.name:
                pairs = options.pairs or case.pairs
                case = replace(case, pairs=pairs)
                row = measured(case, Path(root, ".fxls"), pairs)
                rows.append(row)
                print(table([row]).splitlines()[-1], flush=True)
    fxls.uninstall()
    if options.write:
        _write(table(rows))


if __name__ == "__main__":
    main()
