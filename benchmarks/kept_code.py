"""What it saves that code is kept which an earlier process compiled.

    python -m benchmarks.kept_code
    python -m benchmarks.kept_code --write

Each text is compiled, and taken from the cache, in turns in one process; what counts is
the median of the ratios of CPU time. Texts are those of listings: `torch.fx` under fxls
and `fxls.engine` share what compiles them.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fxls.code_cache import CodeCache

__all__ = ["LEAST", "main", "ratios"]

LEAST = 5.0
"""How many times as fast a second start has to make its code, at the least."""
PAIRS = 15
KINDS = ((100, 100), (10, 1_000), (1, 10_000))
"""How many texts, each of how many nodes."""


def _texts(count: int, nodes: int) -> list[str]:
    lines = [f"    add_{n} = torch.relu(add_{n - 1} + {n})\n" for n in range(1, nodes)]
    body = "".join(lines)
    end = f"    return add_{nodes - 1}\n"
    return [f"def forward(self, add_0):  # {n}\n{body}{end}" for n in range(count)]


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def ratios(count: int, nodes: int, pairs: int = PAIRS) -> tuple[float, float, float]:
    """Seconds to compile, seconds from the cache, and the median of their ratios."""
    texts = _texts(count, nodes)
    sys.dont_write_bytecode = False
    with tempfile.TemporaryDirectory() as folder:
        off, kept = CodeCache(), CodeCache(f"{folder}/code")

        def all_of(cache: CodeCache) -> None:
            for number, text in enumerate(texts):
                cache.compiled(text, f"{number}.py")

        all_of(kept)
        took = [
            (_spent(lambda: all_of(off)), _spent(lambda: all_of(kept)))
            for _ in range(pairs)
        ]
    first, second = zip(*took, strict=True)
    each = [one / other for one, other in took]
    return statistics.median(first), statistics.median(second), statistics.median(each)


PAGE = Path(__file__).parent.parent / "docs" / "overhead.md"
_BEGIN = "<!-- benchmarks.kept_code: begin -->"
_END = "<!-- benchmarks.kept_code: end -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a row is below its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept_code")
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/overhead.md"
    )
    chosen = parser.parse_args(arguments)
    lines = ["| texts | compiled | taken from the cache | times as fast | at least |"]
    lines.append("|---|---:|---:|---:|---:|")
    slow = False
    for count, nodes in KINDS:
        first, second, ratio = ratios(count, nodes)
        slow |= ratio < LEAST
        lines.append(
            f"| {count:,} of {nodes:,} nodes | {first * 1e3:.3g} ms |"
            f" {second * 1e3:.3g} ms | {ratio:.1f} | {LEAST:.0f} |"
        )
    table = "\n".join(lines)
    print(table)
    if chosen.write:
        page = PAGE.read_text("utf-8")
        between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
        assert between.search(page), f"{PAGE} has no markers"
        text = f"{_BEGIN}\n{table}\n{_END}"
        PAGE.write_text(between.sub(lambda _: text, page), "utf-8")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
