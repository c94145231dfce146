"""Whatever happens while tracing, everything is as it was afterwards."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from math import floor
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

from fxls.engine.proxy import TraceError
from fxls.engine.tracing import current as active
from fxls.engine.tracing.tracer import Tracer
from fxls.engine.tracing.wrap import wrap

wrap("len")


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Any) -> Any:
        return x * self.weight + math.sqrt(x) + floor(x) + len(x)


@pytest.fixture(autouse=True)
def _everything_is_as_before() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # a fixture
    before = _patchable()

    yield

    after = _patchable()
    assert all(a is b for a, b in zip(before, after, strict=True))
    assert "len" not in globals()
    assert not active.is_fx_tracing()


def _patchable() -> list[Any]:
    return [
        nn.Module.__dict__["__call__"],
        nn.Module.__dict__["__getattr__"],
        nn.Module.__getattr__.__code__,
        nn.Module.__getattr__.__defaults__,
        *(value for name, value in sorted(vars(math).items()) if name[0] != "_"),
        globals()["floor"],
        gc.isenabled(),
        *vars(nn.functional).values(),
    ]


def test_after_a_trace() -> None:
    graph = Tracer().trace(Linear())

    assert [node.name for node in graph.nodes] == [
        "x",
        "weight",
        "mul",
        "sqrt",
        "add",
        "floor",
        "add_1",
        "len_1",
        "add_2",
        "output",
    ]
    assert len([1]) == 1
    assert math.sqrt(4) == 2


def test_after_an_error() -> None:
    class Failing(Linear):
        def forward(self, x: Any) -> Any:
            super().forward(x)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Tracer().trace(Failing())


def test_after_an_error_that_forward_caught() -> None:
    class Inner(nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x else -x

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.leaf = nn.ReLU()

        def forward(self, x: Any) -> Any:
            try:
                return self.inner(x)
            except TraceError:
                return self.leaf(x)

    graph = Tracer().trace(Outer())
    leaf = graph.find_nodes(op="call_module")[0]

    assert list(leaf.meta["nn_module_stack"]) == ["leaf"]


def test_nested_traces_record_what_is_theirs() -> None:
    graphs: list[str] = []

    class Outer(Linear):
        def forward(self, x: Any) -> Any:
            graphs.append(str(Tracer().trace(Linear())))
            return super().forward(x)

    graphs.append(str(Tracer().trace(Outer())))

    assert graphs[0] == graphs[1]


def test_a_trace_of_torch_fx_inside_ours() -> None:
    class Outer(Linear):
        def forward(self, x: Any) -> Any:
            y = x * self.weight
            assert (
                len(torch.fx.symbolic_trace(nn.Sequential(nn.ReLU())).graph.nodes) == 3
            )
            return y + self.weight

    graph = Tracer().trace(Outer())

    assert [node.name for node in graph.nodes] == [
        "x",
        "weight",
        "mul",
        "add",
        "output",
    ]


def test_our_trace_inside_one_of_torch_fx() -> None:
    class Outer(Linear):
        def forward(self, x: Any) -> Any:
            y = x * self.weight
            assert len(list(Tracer().trace(nn.Sequential(nn.ReLU())).nodes)) == 3
            return y + self.weight

    graph = torch.fx.Tracer().trace(Outer())

    assert [node.name for node in graph.nodes] == [
        "x",
        "weight",
        "mul",
        "add",
        "output",
    ]


def test_threads_trace_without_seeing_each_other() -> None:
    meet = threading.Barrier(4, timeout=300)
    results: dict[int, str] = {}

    class Net(nn.Module):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.inner = Linear()
            self.count = count

        def forward(self, x: Any) -> Any:
            for _ in range(self.count):
                x = self.inner(x)
                meet.wait()
            return x

    def trace(count: int) -> None:
        results[count] = str(Tracer().trace(Net(6)))

    def compute(count: int) -> None:
        module = Linear()
        total = torch.zeros(2)
        for _ in range(6):
            total = total + module.weight * math.sqrt(4) + module(torch.ones(1))
            meet.wait()
        results[count] = str(total)

    jobs = [_thread(trace, n) for n in range(3)] + [_thread(compute, 3)]
    for job in jobs:
        job.join()

    assert results[0] == results[1] == results[2]
    assert results[0].count("call_function[target=math.sqrt]") == 6
    assert results[3] == "tensor([36., 36.], grad_fn=<AddBackward0>)"


def test_a_thread_that_does_not_trace_computes_meanwhile() -> None:
    entered, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    class Waiting(Linear):
        def forward(self, x: Any) -> Any:
            entered.set()
            assert done.wait(300)
            return super().forward(x)

    def compute() -> None:
        assert entered.wait(300)
        module = nn.Linear(2, 2)
        seen.extend([module(torch.ones(2)), module.weight, math.sqrt(4), len([1])])
        done.set()

    job = threading.Thread(target=compute)
    job.start()
    Tracer().trace(Waiting())
    job.join()

    assert [type(value) for value in seen] == [torch.Tensor, nn.Parameter, float, int]


def test_what_one_thread_autowraps_another_traces_through() -> None:
    recorded, traced_through = threading.Event(), threading.Event()
    results: dict[str, list[str]] = {}

    def first(x: Any) -> Any:
        y = doubled(x)
        recorded.set()
        assert traced_through.wait(300)
        return y

    def second(x: Any) -> Any:
        assert recorded.wait(300)
        y = doubled(x)
        traced_through.set()
        return y

    def trace(name: str, tracer: Tracer, root: Any) -> None:
        results[name] = [node.name for node in tracer.trace(root).nodes]

    jobs = [
        threading.Thread(
            target=trace, args=("first", Tracer(autowrap_functions=(doubled,)), first)
        ),
        threading.Thread(target=trace, args=("second", Tracer(), second)),
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()

    assert results == {
        "first": ["x", "doubled", "output"],
        "second": ["x", "mul", "output"],
    }


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        Tracer().trace(Linear())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_frames_and_their_values_are_let_go() -> None:
    class Local:
        pass

    alive: list[weakref.ref[Local]] = []

    def f(x: Any) -> Any:
        held = Local()
        alive.append(weakref.ref(held))
        return x + 1

    tracer = Tracer()
    graph = tracer.trace(f)

    assert len(graph.nodes) == 3
    assert alive[0]() is None


def doubled(x: Any) -> Any:
    return x * 2


def _thread(target: Callable[[int], None], n: int) -> threading.Thread:
    job = threading.Thread(target=target, args=(n,))
    job.start()
    return job
