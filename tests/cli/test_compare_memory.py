"""`fxls compare --memory`: what it keeps has room, and what has none is in a file."""

from __future__ import annotations

import sys

import pytest

from tests.cli.command import Command, Ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak"),
]

PROGRAM = """\
import atexit
import sys

import torch

kind = sys.argv[1]


def memory(name):
    with open("/proc/self/status") as status:
        lines = [line for line in status if line.startswith(name)]
    return int(lines[0].split()[1]) // 1024


def peak():
    print("MB", memory("VmHWM") - before, file=sys.stderr)


def wrong(gm, inputs):
    sigmoid = [n for n in gm.graph.nodes if n.target is torch.sigmoid][10]
    if kind == "gradients":
        with gm.graph.inserting_after(sigmoid):
            detached = gm.graph.call_method("detach", (sigmoid,))
        sigmoid.replace_all_uses_with(detached)
        detached.args = (sigmoid,)
    else:
        sigmoid.target = torch.tanh
    gm.recompile()
    return gm.forward


@torch.compile(backend=wrong)
def gates(x):
    for _ in range(20):
        gate = torch.sigmoid(x)
        x = torch.sin(x) * gate
        if kind == "in-place":
            x.mul_(2.0)
    return x


# 20 times 3 values of 4 MB each, of which the program itself keeps few.
out = gates(torch.randn(1024, 1024, requires_grad=kind == "gradients"))
if kind == "gradients":
    out.sum().backward()
del out
before = memory("VmRSS")
with open("/proc/self/clear_refs", "w") as forget:
    forget.write("5")
atexit.register(peak)
"""

MOST = 24
"""So many MB are allowed, and the values come to 240."""
ONE = 4
"""So many MB has each value. To judge one takes so many times more as `WORK` has it."""
WORK = 30


def peak(ended: Ended) -> int:
    """What comparing took at most, in MB, on top of what the program had at its end."""
    (line,) = [one for one in ended.err.splitlines() if one.startswith("MB ")]
    return int(line.removeprefix("MB "))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("forward", "error: the backend wrong, in graph 0, 0/0: gate_10 is wrong"),
        ("in-place", "error: the backend wrong, in graph 0, 0/0: gate_10 is wrong"),
        (
            "gradients",
            (
                "error: the backend wrong, in graph 0, 0/0: "
                "the gradient of gate_10 through detach is wrong"
            ),
        ),
    ],
)
def test_a_model_whose_values_do_not_fit_is_compared_in_what_is_allowed(
    kind: str, said: str, fxls: Command
) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "--memory", str(MOST), "net.py", kind)

    assert ended.out.splitlines()[0] == said
    assert ended.code == 1
    assert peak(ended) <= MOST + WORK * ONE
