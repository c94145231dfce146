"""Whether the engine is still about as much faster than ``torch.fx`` as it was.

Ratios of two times taken in turns, because a machine that is busy slows both down. Each
bound is about half of what is measured on an idle machine: what falls below it is a
mistake, and not the weather. A row that falls below is measured again, with more pairs,
and fails when it is below each time: a neighbour can slow one side of a few pairs down.

    python -m benchmarks.guard
"""

from __future__ import annotations

import sys
import time

from benchmarks import kept_code, report, server_start, source_keys
from benchmarks.cases import Case, cases
from benchmarks.engine import Row, compared

__all__ = ["LEAST", "main"]

PAIRS = 3
PAIRS_AGAIN = 9
TIMES_AGAIN = 3

LEAST = {
    ("Tracer().trace", "chain 1k"): 4,
    ("Tracer().trace", "ResNet-50"): 1.6,
    ("Tracer().trace", "GPT-2, 12 layers"): 3,
    ("symbolic_trace", "one node"): 1.6,
    ("graph.python_code", "GPT-2, 12 layers"): 2.5,
    ("python_code after one edit", "GPT-2, 48 layers"): 15,
    ("recompile", "GPT-2, 48 layers"): 1000,
    ("str(graph)", "chain 10k"): 2,
    ("lint", "GPT-2, 12 layers"): 1.8,
    ("eliminate_dead_code", "GPT-2, 12 layers"): 3.5,
    ("Graph.call_function", "10k calls"): 2,
    ("graph_copy", "GPT-2, 48 layers"): 1.5,
    ("deepcopy(graph module)", "GPT-2, 48 layers"): 2.5,
    ("Interpreter.run", "10k additions of ints"): 4.5,
    ("Transformer.transform", "ResNet-50"): 2.2,
    ("ShapeProp", "GPT-2, 48 layers"): 1.5,
    ("FakeTensorProp", "ResNet-50"): 1.6,
    ("replace_pattern", "1k nodes, n/4 matches"): 2.4,
    ("iterate over nodes", "chain 10k"): 0.5,
    ("insert", "chain 10k"): 1.4,
    ("erase", "chain 10k"): 1.2,
    ("replace_all_uses_with, n users", "chain 10k"): 0.9,
    ("replace_all_uses_with, 50 times", "cat of 10k"): 1,
    ("replace_all_uses_with", "few, 1k"): 0.55,
    ("replace_all_uses_with", "keywords, 1k"): 0.5,
    ("replace_input_with", "few, 1k"): 0.5,
    ("replace_input_with", "one list, 10k"): 1,
    ("replace_all_uses_with", "2 users, 1k"): 0.5,
    ("replace_all_uses_with", "50 users, 1k"): 0.65,
    ("replace_all_uses_with", "n users, 1k"): 0.9,
    ("erase_node", "keywords, 1k"): 0.6,
    ("erase_node", "many arguments, 1k"): 0.7,
    ("erase_node", "one list, 1k"): 0.8,
    ("node.args =", "one list, 10k"): 0.5,
    ("node.args =", "one list, 1k"): 0.55,
    ("node.kwargs =", "keywords, 1k"): 0.55,
    ("update_arg", "one list, 1k"): 0.55,
    ("update_arg", "many arguments, 1k"): 1.1,
    ("insert_arg", "many arguments, 1k"): 0.6,
    ("prepend", "one list, 10k"): 0.1,
    ("node.name =", "n users, 10k"): 2,
}
"""The least ratio of each guarded row: torch.fx's time divided by ours."""


def main() -> int:
    """Print the rows; 1 when one of them is below its bound."""
    began = time.process_time()
    slow = _slow(_guarded(), PAIRS)
    for _ in range(TIMES_AGAIN):
        if slow:
            print("again, with more pairs:")
            slow = _slow(slow, PAIRS_AGAIN)
    _, _, times = kept_code.ratios(10, 1_000, PAIRS_AGAIN)
    print(f"kept code: {times:.1f} times as fast, bound {kept_code.LEAST:g}")
    keys = source_keys.ratio(PAIRS_AGAIN)
    print(f"a key in a source: {keys:.1f} times as fast, bound {source_keys.LEAST:g}")
    start = server_start.ratio(PAIRS)
    print(f"the server's start: {start:.2f} imports, bound {server_start.MOST:g}")
    names = [f"{case.operation}, {case.on}" for case in slow]
    if times < kept_code.LEAST:
        names.append("kept code")
    if keys < source_keys.LEAST:
        names.append("a key in a source")
    if start > server_start.MOST:
        names.append("the server's start")
    print(f"{time.process_time() - began:.0f} s of CPU time")
    for name in names:
        print(f"slower than it was: {name}")
    return 1 if names else 0


def _slow(chosen: list[Case], pairs: int) -> list[Case]:
    """Measure and print rows; those that are below their bounds."""
    slow: list[Case] = []
    for row in compared(chosen, pairs):
        if row.result.ratio < LEAST[row.case.operation, row.case.on]:
            slow.append(row.case)
        _say(row)
    return slow


def _guarded() -> list[Case]:
    found = {(case.operation, case.on): case for case in cases()}
    return [found[row] for row in LEAST]


def _say(row: Row) -> None:
    bound = LEAST[row.case.operation, row.case.on]
    print(f"{report.line(row.case, row.result)}, bound {bound:g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
