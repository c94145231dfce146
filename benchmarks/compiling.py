"""What fxls costs a compilation: the same with and without it, in turns, in one process.

"With" is all of fxls: listings, the record, and a revision for each pass that changed a
graph, until all of it is on the disk. CPU time counts, of all threads of this process and
of the C++ compiler, which inductor lets run in others. That is four fifths of it and more,
and is given the same sources on both sides, which is asserted here: so how its time varies
says nothing of fxls, and each side has the median of all.

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
class Spent:
    """The CPU time of one turn, in seconds."""

    own: float
    """Of this process."""
    compiler: float
    """Of the processes that it waited for."""
    sources: frozenset[str]
    """The names of what was compiled there, which are made of what they hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """The CPU time of both sides, in seconds, and the ratios of the pairs."""

    case: Case
    compiler: tuple[float, float]
    """What the C++ compiler took on each side."""
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
    turns: dict[bool, list[Spent]] = {False: [], True: []}
    for turn in range(pairs + 1):
        for is_within in (turn % 2 == 0, turn % 2 == 1):
            spent = _once(case, root, is_within=is_within)
            if turn:  # the first pair fills what all share
                turns[is_within].append(spent)
    both = (*turns[False], *turns[True])
    assert len({one.sources for one in both}) == 1, "fxls changes what is compiled"
    compiler = statistics.median(one.compiler for one in both)
    times = {
        side: [one.own + compiler for one in spent] for side, spent in turns.items()
    }
    ratios = [b / a for a, b in zip(times[False], times[True], strict=True)]
    low, middle, high = (
        statistics.quantiles(ratios, n=4, method="inclusive")
        if len(ratios) > 1
        else (ratios[0],) * 3
    )
    without, within = (
        statistics.median(one.compiler for one in spent) for spent in turns.values()
    )
    return Row(
        case,
        (without, within),
        statistics.median(times[False]),
        statistics.median(times[True]),
        *(low, middle, high),
    )


def _once(case: Case, root: Path, *, is_within: bool) -> Spent:
    fxls.uninstall()
    if is_within:
        fxls.install(root)
    with case.around():
        run = case.make()
        gc.collect()
        before = _sources()
        own, others = _used(resource.RUSAGE_SELF), _used(resource.RUSAGE_CHILDREN)
        run()
        finish()
        return Spent(
            _used(resource.RUSAGE_SELF) - own,
            _used(resource.RUSAGE_CHILDREN) - others,
            _sources() - before,
        )


def _used(whom: int) -> float:
    used = resource.getrusage(whom)
    return used.ru_utime + used.ru_stime


def _sources() -> frozenset[str]:
    """What inductor gave to the C++ compiler, in the cache that is in use."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    found = Path(folder).rglob("*.cpp") if folder else ()
    return frozenset(one.name for one in found)


def table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [
        "| a compilation | without | with fxls | of it C++ | more | quartiles | pairs | goal | |",
        "|---|---:|---:|---:|---:|---|---:|---|---|",
    ]
    for row in rows:
        most = row.case.most
        mark = "" if row.middle <= 1 + most else "above"
        lines.append(
            f"| {row.case.name} | {row.without:.2f} s | {row.within:.2f} s |"
            f" {row.compiler[0]:.2f} s, {row.compiler[1]:.2f} s |"
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
        # The folder that is else used has what other programs compile meanwhile.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(root, "cache"))
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
