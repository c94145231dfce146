"""Measurements as tables, for the terminal and for docs/performance.md."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.floors import FLOORS
from benchmarks.limits import Growth
from benchmarks.measure import Comparison
from benchmarks.server import Figure

__all__ = [
    "Limits",
    "figure_line",
    "figures_table",
    "floors",
    "limits_table",
    "line",
    "renew",
    "table",
    "write",
]

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


@dataclass(frozen=True, slots=True)
class Limits:
    """What is not a ratio of two times; pairs are of ``torch.fx`` and of ours."""

    bytes_per_node: tuple[float, float]
    deepest: tuple[int, int]
    import_seconds: float
    collector_shares: dict[str, float]
    """Of our time."""
    sizes: tuple[int, ...]
    growth: dict[str, Growth]
    """By operation."""


def line(case: Case, result: Comparison) -> str:
    """One row for the terminal."""
    mark = " " if result.ratio >= case.target else "-"
    return (
        f"{mark} {case.operation + ', ' + case.on:62}"
        f"{_time(result.theirs):>9}{_time(result.ours):>9}"
        f"{_times(result.ratio):>8} ({_times(result.low)}-{_times(result.high)})"
        f"  target {case.target:g}{_floor(result)}"
    )


def table(rows: Sequence[tuple[Case, Comparison]]) -> str:
    """The rows as a table in Markdown."""
    lines = [
        f"| {' | '.join(_COLUMNS)} | |",
        "|---|---|---:|---:|---:|---|---:|---:|---:|---|",
    ]
    lines += [_row(case, result) for case, result in rows]
    return "\n".join(lines)


def renew(case: Case, result: Comparison) -> None:
    """Put one row into the table of docs/performance.md, in the place of the old one."""
    page = PAGE.read_text()
    old = re.compile(rf"^{re.escape(_begin(case))} .*\|$", re.MULTILINE)
    assert len(old.findall(page)) == 1, f"{PAGE} has no row, or two, {_begin(case)}"
    PAGE.write_text(old.sub(lambda _: _row(case, result), page))


def _row(case: Case, result: Comparison) -> str:
    return (
        f"{_begin(case)} {_time(result.theirs)} |"
        f" {_time(result.ours)} | {_times(result.ratio)} |"
        f" {_times(result.low)} to {_times(result.high)} |"
        f" {'' if result.floor is None else _time(result.floor)} |"
        f" {'' if result.limit is None else _times(result.limit)} |"
        f" {case.target:g} | {_verdict(case, result)} |"
    )


def _begin(case: Case) -> str:
    return f"| {case.operation} | {case.on} |"


def floors() -> str:
    """What the floors of the table are, as a list in Markdown."""
    operations: dict[str, list[str]] = {}
    for operation, floor in FLOORS.items():
        operations.setdefault(floor.what, []).append(operation)
    lines = ["The floors:", ""]
    lines += [f"- {', '.join(names)}: {what}." for what, names in operations.items()]
    return "\n".join(lines)


def _verdict(case: Case, result: Comparison) -> str:
    if result.ratio >= case.target:
        return ""
    is_out = result.limit is not None and result.limit < case.target
    return "below, as the floor is" if is_out else "below"


def _floor(result: Comparison) -> str:
    if result.floor is None or result.limit is None:
        return ""
    return f", floor {_time(result.floor)}, at most {_times(result.limit)}"


_COLUMNS = (
    "operation", "on", "torch.fx", "ours", "ratio", "quartiles", "floor", "at most",
    "target",
)  # fmt: skip


def limits_table(found: Limits) -> str:
    """The limits as tables in Markdown."""
    theirs, ours = found.bytes_per_node
    their_depth, our_depth = found.deepest
    sizes = " | ".join(f"{size:,}" for size in found.sizes)
    lines = [
        "| | torch.fx | ours | target |",
        "|---|---:|---:|---:|",
        f"| bytes per node of a traced chain | {theirs:.0f} | {ours:.0f} | 500 |",
        f"| deepest nesting of modules | {their_depth} | {our_depth} | 190 |",
        f"| import after torch, ms | | {found.import_seconds * 1e3:.1f} | 15 |",
        "",
        "| the collector's share of our time | |",
        "|---|---:|",
        *(
            f"| {what} | {share:.0%} |"
            for what, share in found.collector_shares.items()
        ),
        "",
        f"| growth, microseconds a node at | {sizes} | exponent | floor's | target |",
        f"|---|{'---:|' * len(found.sizes)}---:|---:|---:|",
    ]
    for operation, (slope, times, least) in found.growth.items():
        each = " | ".join(
            f"{took / size * 1e6:.2f}"
            for size, took in zip(found.sizes, times, strict=True)
        )
        floor = "" if least is None else f"{least:.2f}"
        lines.append(f"| {operation} | {each} | {slope:.2f} | {floor} | 1.1 |")
    return "\n".join(lines)


def figure_line(figure: Figure) -> str:
    """One figure of the server for the terminal."""
    mark = "-" if figure.is_above() else " "
    bound = "" if math.isinf(figure.bound) else f"  bound {figure.bound:g}"
    return (
        f"{mark} {figure.what:62}{figure.median:9.2f}{figure.worst:9.2f}"
        f" {figure.unit}{bound}{_cpu(figure, '  CPU ')}"
    )


def figures_table(figures: Sequence[Figure]) -> str:
    """The figures of the server as a table in Markdown."""
    lines = [
        "| server | median | p99 | bound | | CPU |",
        "|---|---:|---:|---:|---|---:|",
    ]
    lines += [
        f"| {one.what} | {_amount(one.median)} {one.unit} |"
        f" {_amount(one.worst)} {one.unit} |"
        f" {'' if math.isinf(one.bound) else f'{one.bound:g} {one.unit}'} |"
        f" {'above' if one.is_above() else ''} | {_cpu(one)} |"
        for one in figures
    ]
    return "\n".join(lines)


def _cpu(figure: Figure, word: str = "") -> str:
    return "" if math.isnan(figure.cpu) else f"{word}{_amount(figure.cpu)} ms"


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.2g}"


def write(part: str, texts: Sequence[str]) -> None:
    """Put texts into docs/performance.md, between the markers of a part."""
    begin, end = (
        f"<!-- benchmarks {part}: begin -->",
        f"<!-- benchmarks {part}: end -->",
    )
    page = PAGE.read_text()
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    assert between.search(page), f"{PAGE} has no markers of {part}"
    inside = "\n\n".join(texts)
    PAGE.write_text(between.sub(lambda _: f"{begin}\n{inside}\n{end}", page))


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _times(ratio: float) -> str:
    return (
        f"{ratio:.0f}x"
        if ratio >= 100
        else f"{ratio:.2g}x"
        if ratio < 10
        else f"{ratio:.1f}x"
    )
