"""What the tests of editors work on: a small model, in a folder as a person has it."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["MODEL", "ROOT", "write_project"]

ROOT = Path(__file__).parent.parent.parent

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(4, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.linear(x))
        return x + y


# fxls: Net(4)(torch.randn(2, 4))
"""


def write_project(folder: Path) -> Path:
    """A folder with `net.py` and an environment, as a person has it."""
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "net.py").write_text(MODEL)
    return folder
