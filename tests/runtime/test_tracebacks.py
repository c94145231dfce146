"""An error in generated code says where it happened, in the listing and in the source."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

NET = """\
    import torch
    from torch import nn

    class Block(nn.Module):
        def forward(self, x, y):
            return torch.relu(x + y)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.block = Block()

        def forward(self, x):
            return self.block(self.linear(x), x).sum()
    """

RUN = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    damage = __import__("pathlib").Path(gm.forward.__code__.co_filename)
    damage.write_text("# edited\\n" * 20)
    gm(torch.ones(2, 4))
    """


def test_an_uncaught_error_shows_the_listing_the_source_and_the_inputs(
    tmp_path: Path,
) -> None:
    for name, text in (("pyproject.toml", ""), ("net.py", NET), ("run.py", RUN)):
        (tmp_path / name).write_text(dedent(text), "utf-8")
    ran = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    said = re.sub(r"_[0-9a-f]{12}\.py", ".py", ran.stderr.replace(str(tmp_path), ""))
    frames = said[: said.index("RuntimeError")].split("  File ")
    assert frames[1] == '"/run.py", line 10, in <module>\n    gm(torch.ones(2, 4))\n'
    assert frames[-1] == (
        '"/.fxls/Net.py", line 7, in forward\n'
        "    add = linear + x;  linear = x = None\n"
        "          ~~~~~~~^~~\n"
    )
    message, _, note = said[said.index("RuntimeError") :].partition("\n")
    assert message.startswith("RuntimeError: The size of tensor a (3) must match")
    assert note == dedent(f"""\
        Node add of Net: add = linear + x
          File "/net.py", line 15, in Net.forward
            return self.block(self.linear(x), x).sum()
                   {"^" * 29}
          File "/net.py", line 6, in Block.forward
            return torch.relu(x + y)
                              ^^^^^
          with linear: float32 (2, 3)
          with x: float32 (2, 4)
        """)
