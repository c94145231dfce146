"""The source that the tests of completions, fixes and hints ask about."""

from __future__ import annotations

from fxls.ide.edits.fix import Fix
from fxls.text import LineTable

PATH = "/work/model.py"

MODEL = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, hidden: int, layers: list[int], *, bias=True):
        super().__init__()

    def forward(self, x, flag: bool):
        h = self.part(x)
        y: torch.Tensor = self.part(h)
        y += h
        return y.view(
            -1
        )

    def part(self, é):
        b = torch.relu(é)
        return b + 1
"""


def applied(fix: Fix, text: str) -> str:
    """A text with the edits of a fix."""
    lines = LineTable(text)
    for edit in sorted(fix.edits, key=lambda e: e.span, reverse=True):
        start, end = lines.offset(edit.span.start), lines.offset(edit.span.end)
        text = text[:start] + edit.text + text[end:]
    return text
