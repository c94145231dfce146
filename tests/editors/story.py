"""What the tests of editors work on: a small model, in a folder as a person has it."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["HOVER", "MODEL", "ROOT", "write_hostile_project", "write_project"]

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

HOVER = [
    "`relu`: call_function `torch.relu` → `f32[2, 4]`",
    "",
    "from [`net.py:11`] in `Net.forward`",
    "",
    "```python",
    "y = torch.relu(self.linear(x))",
    "```",
    "",
    "- **calls**: `torch.relu` [documentation]",
    "- **args**: [`linear`]",
    "- **users**: 1: [`add`]",
    "- **value**: `float32 (2, 4), stride (4, 1), cpu, 32 B, requires grad`",
]
"""What the hover on `relu` says, its links without their targets."""


def write_project(folder: Path) -> Path:
    """A folder with `net.py` and an environment, as a person has it."""
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "net.py").write_text(MODEL)
    return folder


def write_hostile_project(folder: Path) -> Path:
    """A project all of whose code notes that it ran; returns the note."""
    ran = folder.parent / "ran"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("fxls", "python", "python3"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n")
        (programs / name).chmod(0o755)
    noting = f"open({str(ran)!r}, 'a').write('model')\n"
    (folder / "pyproject.toml").touch()
    (folder / "net.py").write_text(noting + MODEL)
    for name in ("fxls.py", "sitecustomize.py"):
        (folder / name).write_text(noting)
    return ran
