"""Kernels of Triton that a user wrote, in code that inductor wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gpu.conftest import Run

pytestmark = pytest.mark.slow

PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_scaled(x_ptr, y_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + scale * y, mask=at < n)


@torch.compile
def f(x, y):
    out = torch.empty_like(x)
    given = x.sin()
    add_scaled[(4,)](given, y, out, 1000, 2.0, BLOCK=256)
    return out.cos()


x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
for _ in range(3):
    got = f(x, y)
print(torch.allclose(got, (x.sin() + 2 * y).cos(), atol=1e-5))
"""


def test_its_call_is_a_kernel_that_computes_a_node_of_the_program(fxls: Run) -> None:
    ended = fxls(PROGRAM, "run", "net.py")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")
    kernels: list[Any] = json.loads(fxls(PROGRAM, "runs", "-1", "--json").stdout)[
        "kernels"
    ]
    assert [one["call"].rstrip("0123456789") for one in kernels] == [
        "triton_poi_fused_sin_0:",
        "add_scaled_0:",
        "triton_poi_fused_cos_1:",
    ]
    assert [place["line"] for place in kernels[1]["places"]] == [18, 17]


def test_nobody_is_blamed_for_it(fxls: Run) -> None:
    ended = fxls(PROGRAM, "compare", "net.py")
    assert (ended.returncode, ended.stderr) == (0, "True\n")
    assert ended.stdout.splitlines()[-1].startswith("nobody is at fault (1 graph")
