"""The program of docs/developing.md that does a trace of the server in one process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/developing.md"
NET = """\
import torch

class Net(torch.nn.Module):
    def forward(self, row):
        return row.sigmoid()
"""


@pytest.mark.slow
def test_the_program_of_the_page_traces_and_says_what_came_of_it(
    tmp_path: Path,
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (program,) = (block for block in blocks if "Attempt(" in block)
    (tmp_path / "one_trace.py").write_text(program, "utf-8")
    (tmp_path / "net.py").write_text(NET, "utf-8")

    said = subprocess.run(
        [sys.executable, "one_trace.py"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )

    (listing,) = (tmp_path / ".fxls").glob("Net_*.py")
    assert said.stdout.startswith("Traced(id=1, ")
    assert str(listing) in said.stdout
