"""What fxls costs a program: the same with and without the runtime, in one process.

The two take turns (see `measure`). No debugger is connected.

    python -m benchmarks.overhead [--quick] [--only WORDS] [--write]
"""

from __future__ import annotations

import argparse
import copy
import gc
import itertools
import math
import operator
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import torch

import fxls
from benchmarks.measure import Comparison, Prepare, compare, seconds
from benchmarks.models import Gpt
from fxls import engine
from fxls.runtime import finish

__all__ = ["Case", "cases", "main", "table"]

SECONDS, QUICK_SECONDS = 20.0, 3.0
"""For one row, as far as that is enough for so many pairs:"""
FEWEST = 9
NODES = 1000

fx: Any = torch.fx
_any: Any = cast("Any", torch)


def _none(_took: float) -> float:
    return math.inf


def _one_percent(took: float) -> float:
    return 1.01 * took


def _sixty_percent(took: float) -> float:
    return 1.6 * took


def _little(took: float) -> float:
    return 1.15 * took + 0.001


@dataclass(frozen=True, slots=True)
class Case:
    """The same thing, without the runtime and with it."""

    name: str
    without: Prepare
    within: Prepare
    promise: str = ""
    bound: Callable[[float], float] = _none
    """How long it may take with the runtime, for how long it takes without."""
    repeats: bool = True


class _Switch:
    """Turns the runtime on and off, with a store of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def on(self) -> None:
        fxls.install(self._root)

    def off(self) -> None:
        fxls.uninstall()


def cases(root: Path) -> Iterator[Case]:
    """Every row; models are made when their row is measured."""
    switch = _Switch(root)
    for make, name in (
        (_traced_by_torch, "traced by torch.fx"),
        (_traced_by_engine, "traced by fxls.engine"),
        (_compiled, 'torch.compile(backend="eager")'),
    ):
        for width, heads, size in ((768, 12, "GPT-2"), (64, 4, "GPT-2, 64 wide")):
            yield _step(switch, make, f"a step of {size}, {name}", width, heads)
    for width, heads, size in ((768, 12, "GPT-2"), (64, 4, "GPT-2, 64 wide")):
        yield _watched(switch, f"a step of {size}", partial(_gpt, width, heads))
    yield _watched(switch, f"a step of {NODES:,} operations on 16 numbers", _chain)
    graph = _additions(NODES)
    made = f"a GraphModule of {NODES:,} nodes"
    promise = ("at most 1 ms + 15 %", _little)

    versions = itertools.count()
    changing = next(node for node in graph.nodes if node.op == "call_function")

    def make_module() -> None:
        fx.GraphModule({}, graph)

    def on_with_new_text() -> None:
        changing.args = (changing.args[0], next(versions))
        switch.on()

    yield _making(
        *(f"{made}, its text is in the store", switch, switch.on, make_module), *promise
    )
    yield _making(
        *(f"{made}, its text is new", switch, on_with_new_text, make_module), *promise
    )

    def make_module_and_facts() -> None:
        make_module()
        finish()

    yield _making(
        *(f"{made}, and its facts, which a thread writes later", switch),
        on_with_new_text,
        make_module_and_facts,
    )
    edited = fx.GraphModule({}, _additions(NODES))
    middle = next(node for node in edited.graph.nodes if node.op == "call_function")

    def insert_recompile_and_call() -> None:
        with edited.graph.inserting_after(middle):
            new = edited.graph.call_function(operator.add, (middle, next(versions)))
        edited.recompile()
        edited(1)
        edited.graph.erase_node(new)
        finish()

    yield _making(
        *(f"insert, recompile and call {NODES:,} nodes, and the facts", switch),
        switch.on,
        insert_recompile_and_call,
        *("at most 60 %", _sixty_percent),
    )
    net = Gpt(12, 16, 4)
    yield _making(
        *("torch.fx.symbolic_trace of GPT-2", switch, switch.on),
        lambda: fx.symbolic_trace(net),
    )


def _step(
    switch: _Switch, make: Callable[[Any], Any], name: str, width: int, heads: int
) -> Case:
    """Forward, backward and an update; 16 tokens, so that arithmetic hides little."""
    _any.manual_seed(0)
    model = Gpt(12, width, heads)
    tokens = torch.randint(32, (4, 4))
    switch.off()
    plain = _training(make(model), model, tokens)
    plain()
    switch.on()
    watched = _training(make(model), model, tokens)
    watched()
    finish()

    def without() -> Callable[[], Any]:
        switch.off()
        return plain

    def within() -> Callable[[], Any]:
        switch.on()
        return watched

    return Case(name, without, within, "at most 1 %", _one_percent)


def _watched(
    switch: _Switch, name: str, make: Callable[[], Callable[[], None]]
) -> Case:
    """A step of training by a graph that is made under the runtime."""
    switch.on()
    step = make()
    step()
    finish()

    def without() -> Callable[[], Any]:
        fxls.break_on()
        return step

    def within() -> Callable[[], Any]:
        fxls.break_on("nan", "grad-nan")
        return step

    watched = f"{name}, watched for `nan` and `grad-nan`"
    return Case(watched, without, within, "at most 60 %", _sixty_percent)


def _gpt(width: int, heads: int) -> Callable[[], None]:
    model = Gpt(12, width, heads)
    return _training(_traced_by_torch(model), model, torch.randint(32, (4, 4)))


def _chain() -> Callable[[], None]:
    """The least work for each node: what is between the nodes takes all the time."""
    graph = fx.Graph()
    made = graph.placeholder("x")
    for at in range(NODES):
        made = graph.call_function((torch.sin, torch.cos)[at % 2], (made,))
    graph.output(made)
    run = fx.GraphModule({}, graph)
    x = torch.rand(16, requires_grad=True)

    def step() -> None:
        run(x).sum().backward()

    return step


def _compared(case: Case, enough: float) -> Comparison:
    """The comparison of as many pairs as there is time for."""
    case.without()()
    took = seconds(case.without()) + seconds(case.within())
    pairs = max(FEWEST, int(enough / took))
    return compare(case.without, case.within, pairs=pairs, repeats=case.repeats)


def _training(run: Callable[..., Any], model: Any, tokens: Any) -> Callable[[], None]:
    optimizer: Any = _any.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        run(tokens).square().mean().backward()  # which stays finite
        optimizer.step()

    return step


def _making(
    name: str,
    switch: _Switch,
    turn_on: Callable[[], None],
    make: Callable[[], object],
    promise: str = "",
    bound: Callable[[float], float] = lambda _: math.inf,
) -> Case:
    def without() -> Callable[[], Any]:
        switch.off()
        return make

    def within() -> Callable[[], Any]:
        finish()
        turn_on()
        return make

    return Case(name, without, within, promise, bound, repeats=False)


def _traced_by_torch(model: Any) -> Any:
    return fx.symbolic_trace(model)


def _traced_by_engine(model: Any) -> Any:
    return engine.symbolic_trace(model)


def _compiled(model: Any) -> Any:
    """Compiled for itself: torch keeps what it compiled by the code of the forward."""
    kind = cast("Any", type(model))
    forward = FunctionType(kind.forward.__code__.replace(), kind.forward.__globals__)
    again: Any = copy.copy(model)
    again.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return _any.compile(again, backend="eager")


def _additions(count: int) -> Any:
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(count):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    return graph


@dataclass(frozen=True, slots=True)
class Start:
    """The CPU time of a process that does one thing, each the median, in seconds."""

    nothing: float
    fxls: float
    torch: float
    torch_and_runtime: float
    graph: float
    graph_and_runtime: float
    run: float
    run_with_flag: float


def start(pairs: int) -> Start:
    """Programs in turns; ``import fxls`` loads nothing but itself."""
    graph = "import torch; torch.fx.symbolic_trace(torch.nn.ReLU())"
    folder = Path(fxls.__file__).parent
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    plain["PYTHONPATH"] = str(folder.parent)
    with tempfile.TemporaryDirectory() as store:
        startup = os.pathsep.join([str(folder / "startup"), plain["PYTHONPATH"]])
        runtime = {**plain, "PYTHONPATH": startup, "FXLS_STORE": store}
        hello = Path(store, "hello.py")
        hello.write_text("print('hello')\n", "utf-8")
        programs: list[tuple[list[str], dict[str, str]]] = [
            (["-c", "pass"], plain),
            (["-c", "import fxls"], plain),
            (["-c", "import torch"], plain),
            (["-c", "import torch"], runtime),
            (["-c", graph], plain),
            (["-c", graph], runtime),
            (["-m", "fxls", "run", str(hello)], plain),
            (["-m", "fxls", "run", "-u", str(hello)], plain),
        ]
        took: list[list[float]] = [[] for _ in programs]
        for turn in range(pairs + 1):
            for times, (program, environment) in zip(took, programs, strict=True):
                began = _spent()
                subprocess.run(
                    [sys.executable, *program],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                if turn:  # the first turn writes bytecode
                    times.append(_spent() - began)
    return Start(*map(statistics.median, took))


def _spent() -> float:
    """The CPU time of the processes that this one waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(rows: Sequence[tuple[Case, Comparison]], found: Start | None) -> str:
    """The rows as a table in Markdown."""
    lines = [
        "| | without | with fxls | more | quartiles | pairs | promised | |",
        "|---|---:|---:|---:|---|---:|---|---|",
    ]
    for case, result in rows:
        with_fxls = result.theirs / result.ratio
        mark = "" if with_fxls <= case.bound(result.theirs) else "above"
        lines.append(
            f"| {case.name} | {_ms(result.theirs)} | {_ms(with_fxls)} |"
            f" {_more(result.ratio)} | {_more(result.high)} to {_more(result.low)} |"
            f" {result.pairs} | {case.promise} | {mark} |"
        )
    if found is not None:
        lines += [
            "",
            "| a process that | takes | more than without |",
            "|---|---:|---:|",
            f"| does nothing | {_ms(found.nothing)} | |",
            f"| imports fxls | {_ms(found.fxls)} | {_ms(found.fxls - found.nothing)} |",
            f"| imports torch | {_ms(found.torch)} | |",
            _under("imports torch", found.torch, found.torch_and_runtime),
            f"| and makes a graph | {_ms(found.graph)} | |",
            _under("and makes a graph", found.graph, found.graph_and_runtime),
            _under("prints a word", found.nothing, found.run),
            _under("prints a word, with `-u`", found.nothing, found.run_with_flag),
        ]
    return "\n".join(lines)


def _under(what: str, plain: float, runtime: float) -> str:
    return f"| {what} under `fxls run` | {_ms(runtime)} | {_ms(runtime - plain)} |"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _more(ratio: float) -> str:
    return f"{(1 / ratio - 1) * 100:+.1f} %"


PAGE = Path(__file__).parent.parent / "docs" / "overhead.md"
_BEGIN = "<!-- benchmarks.overhead: begin -->"
_END = "<!-- benchmarks.overhead: end -->"


def _write(text: str) -> None:
    page = PAGE.read_text("utf-8")
    between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
    assert between.search(page), f"{PAGE} has no markers"
    PAGE.write_text(between.sub(lambda _: f"{_BEGIN}\n{text}\n{_END}", page), "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead")
    parser.add_argument("--quick", action="store_true", help="fewer pairs")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/overhead.md"
    )
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows: list[tuple[Case, Comparison]] = []
    with tempfile.TemporaryDirectory() as root:
        for case in cases(Path(root)):
            if chosen.only in case.name:
                gc.collect()
                gc.freeze()
                took = _compared(case, QUICK_SECONDS if chosen.quick else SECONDS)
                rows.append((case, took))
                print(table(rows[-1:], None).splitlines()[-1], flush=True)
        fxls.uninstall()
    found = None if chosen.only else start(9 if chosen.quick else 25)
    python = f"CPython {platform.python_version()}, {platform.machine()}"
    with_what = f"torch {torch.__version__.partition('+')[0]}, {python}"
    text = f"Measured with {with_what}.\n\n{table(rows, found)}"
    print(text)
    if chosen.write:
        assert found is not None, "--write goes with all rows"
        _write(text)


if __name__ == "__main__":
    main()
