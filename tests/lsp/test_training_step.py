"""What the expressions of a model show after a training step that was compiled."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.lsp_client import started
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

STEP = """\
import torch
from torch import nn

import fxls


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        y = self.norm(x)
        return self.head(y).sum()


fxls.install()
torch.compile(Net(), backend="aot_eager")(torch.randn(3, 8)).backward()
"""


def with_names(markdown: str) -> str:
    """Each link as the name of the stage of its listing, and what is bound there."""

    def named(link: re.Match[str]) -> str:
        path, line, column = map(str, link.groups())
        text = Path(unquote(path)).read_text("utf-8")
        stage = re.findall(r"^# It is (.*) of Net[.,]", text, re.MULTILINE)
        there = text.split("\n")[int(line) - 1][int(column) - 1 :]
        return f"({', '.join(stage)}: {re.split(r'[ ,:]', there)[0]})"

    return re.sub(r"\(file://([^#]*)#L(\d+),(\d+)\)", named, markdown)


def test_a_compiled_training_step_shows_its_captured_nodes_and_counts_the_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    source = tmp_path / "step.py"
    source.write_text(STEP)
    subprocess.run([sys.executable, source], cwd=tmp_path, check=True, timeout=300)

    said: dict[str, str] = {}
    with started() as client:
        client.initialize(tmp_path, capabilities=EDITOR)
        client.open(source)
        for line, text in enumerate(STEP.split("\n")):
            for expression in ("self.norm(x)", "self.head(y)"):
                if expression in text:
                    at = text.index(expression)
                    hover: Json = client.ask("hover", source, line, at)
                    said[expression] = with_names(hover["contents"]["value"])
        client.unread()
        client.end()

    assert said == {
        "self.norm(x)": """\
1 node of Net, torch.compile, graph 0

- [`y`](graph 0: y): call_function `torch.nn.functional.layer_norm` → `f32[3, 8]`

In other stages:

- [`traced`](graph 0, traced: native_layer_norm): 7 nodes
- [`forward`](graph 0, forward: native_layer_norm): 4 nodes
- [`backward`](graph 0, backward: native_layer_norm_backward): 3 nodes""",
        "self.head(y)": """\
1 node of Net, torch.compile, graph 0

- [`linear`](graph 0: linear): call_function `torch._C._nn.linear` → `f32[3, 4]`

In other stages:

- [`traced`](graph 0, traced: t): 10 nodes
- [`forward`](graph 0, forward: t): 2 nodes
- [`backward`](graph 0, backward: t): 9 nodes""",
    }
