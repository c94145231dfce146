"""A program under fxls warns of what it warns of without fxls, and of nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

PROGRAM = """\
import copy
import warnings

import torch
from torch.fx.passes.split_module import split_module


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + x


def first_part(node):
    return 0


x = torch.ones(2, 3, requires_grad=True)
traced = torch.fx.symbolic_trace(Net())
copy.deepcopy(traced)
torch.fx.Transformer(traced).transform()
split_module(traced, traced, first_part)(x)
program = torch.export.export(Net(), (x,))
program.module()
program.run_decompositions({})
torch.export.unflatten(program)
for backend in ("eager", "aot_eager"):
    torch.compiler.reset()
    torch.compile(Net(), backend=backend)(x).sum().backward()
warnings.warn("slow", stacklevel=1)
print("ran")
"""

ALWAYS = {"PYTHONWARNINGS": "always"}
WARNED = re.compile(r"^.*?:\d+: (?P<what>\w+Warning: .*)$", re.M)


def warned(err: str) -> Counter[str]:
    return Counter(found["what"] for found in WARNED.finditer(err))


def alone(fxls: Command) -> str:
    """What the program says without fxls."""
    ended = subprocess.run(
        [sys.executable, "program.py"],
        cwd=fxls.folder,
        env={**os.environ, **ALWAYS},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert ended.stdout == "ran\n"
    return ended.stderr


def test_a_torch_warns_a_program_of_what_it_does_without_fxls(fxls: Command) -> None:
    fxls.file(PROGRAM, "program.py")
    own = warned(alone(fxls))
    under = fxls.run("run", "program.py", env=ALWAYS)
    assert (under.code, under.out) == (0, "ran\n")
    assert warned(under.err) == own
    assert own["UserWarning: slow"] == 1
