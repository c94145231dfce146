"""`fxls compare` of programs that do what few do: it says what it left out, and blames nobody."""

from __future__ import annotations

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

THREADS = """\
import threading

import torch


def sine(x):
    return x.sin() + 1


def cosine(x):
    return x.cos() * 2


compiled = [torch.compile(one, backend="aot_eager") for one in (sine, cosine)]
threads = [
    threading.Thread(target=one, args=(torch.randn(4, 4),)) for one in compiled
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

NESTED = """\
import torch


@torch.compile(backend="aot_eager")
def double(x):
    return x * 2


rows = [torch.ones(2), torch.ones(3)]
double(torch.nested.nested_tensor(rows, layout=torch.jagged))
raise KeyboardInterrupt
"""


def test_graphs_that_threads_compile_are_compared(fxls: Command) -> None:
    fxls.file(THREADS)

    ended = fxls.run("compare", "net.py")

    assert ended.out == (
        "nobody is at fault (2 graphs, 0 changes by passes, 0 decompositions, "
        "0 values of compiled code, 0 compilations more)\n"
    )
    assert ended.code == 0


def test_a_nested_tensor_is_named_though_the_program_is_interrupted(
    fxls: Command,
) -> None:
    fxls.file(NESTED)

    ended = fxls.run("compare", "net.py")

    assert ended.out.splitlines() == [
        (
            "not compared: the captured graph, in graph 0, 0/0: "
            "an input is a NestedTensor, of which fxls knows too little"
        ),
        (
            "not compared: what the function returned, in graph 0, 0/0: "
            "an input is a NestedTensor, of which fxls knows too little"
        ),
        "note: the program ended with KeyboardInterrupt",
        (
            "nobody can say: nothing of 1 graph could be judged (1 graph, 0 changes by passes, "
            "0 decompositions, 0 values of compiled code, 0 compilations more)"
        ),
    ]
    assert ended.code == 2
