"""`fxls compare` of programs that do what few do: it says what it left out, and blames nobody."""

from __future__ import annotations

import sys

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


FULL = """\
import resource

import torch


@torch.compile(backend="aot_eager")
def deep(x):
    for _ in range(6):
        x = torch.sin(x @ x.t()) @ x
    return x


deep(torch.randn(2500, 2500))
with open("/proc/self/statm") as held:
    most = int(held.read().split()[0]) * resource.getpagesize() + (40 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""

SHARDED = """\
import torch
import torch.distributed as dist
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))


@torch.compile(backend="aot_eager")
def layer(x, weight):
    return (x @ weight).relu()


weight = distribute_tensor(torch.randn(8, 8), mesh, [Shard(0)])
layer(distribute_tensor(torch.randn(4, 8), mesh, [Replicate()]), weight)
dist.destroy_process_group()
"""

KILLED = """\
import os
import signal

import torch

torch.compile(torch.sin, backend="eager")(torch.ones(2))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what it holds")
def test_what_there_is_no_memory_for_is_said_and_is_nobodys_fault(
    fxls: Command,
) -> None:
    fxls.file(FULL)

    ended = fxls.run("compare", "net.py")

    assert "not compared: " in ended.out
    assert ": there was too little memory left for it\n" in ended.out
    assert "at fault" not in ended.out.replace("nobody is at fault", "")
    assert ended.code in (0, 2)
    assert "Traceback" not in ended.err


def test_sharded_tensors_are_named_and_left_out(fxls: Command) -> None:
    fxls.file(SHARDED)

    ended = fxls.run("compare", "net.py")

    why = "in graph 0, 0/0: an input is a DTensor, of which fxls knows too little"
    assert ended.out.splitlines()[:2] == [
        f"not compared: the captured graph, {why}",
        f"not compared: what the function returned, {why}",
    ]
    assert ended.code in (0, 2)


def test_of_a_program_that_is_killed_nothing_is_known(fxls: Command) -> None:
    fxls.file(KILLED)

    ended = fxls.run("compare", "net.py")

    said = "fxls: error: the program ended with -9, and nothing is known of it"
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[0] == said


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
            "nobody can say: too little of 1 graph could be judged (1 graph, 0 changes by passes, "
            "0 decompositions, 0 values of compiled code, 0 compilations more)"
        ),
    ]
    assert ended.code == 2
