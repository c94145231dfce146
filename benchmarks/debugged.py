"""The program that `benchmarks.debugging` debugs: a long function, timed when asked.

``python -m benchmarks.debugged KIND LINES FOLDER`` prints a JSON object a line: what it
made and where it waits for a debugger, then what a call takes for each line that it
reads: in seconds, and how many times that of a loop that does the same in turns, of
which no debugger sees anything.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import operator
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from fxls import engine
from fxls.launching.listening import free
from fxls.runtime import install
from fxls.store import Store

__all__ = ["KINDS", "main"]

KINDS = ("listing", "plain function", "torch.fx")

_LONG = 3.0
"""Seconds after which no call is made any more; one is made always."""
_CALLS = 51


def main(arguments: Sequence[str]) -> None:
    """Make the function, and time it after each line of input."""
    kind, lines, folder = arguments[0], int(arguments[1]), Path(arguments[2])
    function, path, line = _MAKERS[kind](lines, folder)
    x = torch.ones(2)
    none = _measured(function, x, lines)
    import debugpy  # noqa: PLC0415, T100  # pyright: ignore[reportMissingTypeStubs]  # what is compared

    where = free()
    debugpy.listen((where.host, where.port))  # noqa: T100  # pyright: ignore[reportUnknownMemberType]  # untyped
    made = {"path": path, "line": line, "none": none, "port": where.port}
    print(json.dumps(made), flush=True)
    for _ in sys.stdin:
        # The runtime looks for a debugger whenever a graph is made.
        engine.GraphModule(torch.nn.Module(), _graph(engine.Graph(), 1))
        print(json.dumps(_measured(function, x, lines)), flush=True)


def _measured(
    function: Callable[[torch.Tensor], Any], x: torch.Tensor, lines: int
) -> dict[str, float]:
    """CPU time, because the machine may be busy, and beside the loop's, for the same."""
    times: list[float] = []
    ratios: list[float] = []
    started = time.perf_counter()
    while not times or (len(times) < _CALLS and time.perf_counter() - started < _LONG):
        start = time.thread_time()
        functools.reduce(operator.add, itertools.repeat(1, lines), x)
        between = time.thread_time()
        function(x)
        times.append(time.thread_time() - between)
        ratios.append(times[-1] / (between - start))
    return {"seconds": min(times), "times": statistics.median(ratios)}


def _listing(lines: int, folder: Path) -> tuple[Callable[..., Any], str, int]:
    store = Store(install(folder / ".fxls"))
    module = engine.GraphModule(torch.nn.Module(), _graph(engine.Graph(), lines))
    code: CodeType = type(module).forward.__code__
    parts = [one for one in code.co_consts if isinstance(one, CodeType)]
    path = (parts[0] if parts else code).co_filename
    nodes = store.read(Path(path)).nodes
    return module, path, nodes[len(nodes) // 2].line + 1


def _plain(lines: int, folder: Path) -> tuple[Callable[..., Any], str, int]:
    rows = ["def plain(x0):"]
    rows += [f"    x{i + 1} = x{i} + 1;  x{i} = None" for i in range(lines)]
    path = folder / f"plain_{lines}.py"
    path.write_text("\n".join([*rows, f"    return x{lines}", ""]), "utf-8")
    spec = importlib.util.spec_from_file_location("plain", path)
    assert spec is not None, "the file is there"
    assert spec.loader is not None, "as above"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.plain, str(path), lines // 2 + 2


def _stock(lines: int, _folder: Path) -> tuple[Callable[..., Any], str, int]:
    stock: Any = torch.fx
    module = stock.GraphModule(torch.nn.Module(), _graph(stock.Graph(), lines))
    # No file, so that nobody asks for a line of it.
    return module, "", 0


def _graph(graph: Any, lines: int) -> Any:
    x = graph.placeholder("x")
    for _ in range(lines):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    return graph


_MAKERS = {"listing": _listing, "plain function": _plain, "torch.fx": _stock}

if __name__ == "__main__":
    main(sys.argv[1:])
