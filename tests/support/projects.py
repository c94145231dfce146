"""A project with one model, and what editors say that they can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fxls.listing import Listing, Tensor
from fxls.text import Span
from tests.support.listings import listing_of

__all__ = ["EDITOR", "SOURCE", "TEXT", "net_listing", "spot", "where"]

Json = Any

SOURCE = """\
import torch, torch.nn as nn


# fxls: Net()(torch.randn(2))
class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x) + '𝄞'.count(x)
"""

TEXT = """\
import torch

def forward(self, x):
    relu = torch.relu(x)
    count = '𝄞'.count(x);  x = None
    add = relu + count;  relu = None;  count = None
    return add
"""

EDITOR: Mapping[str, Json] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}},
    },
    "workspace": {
        "applyEdit": True,
        "textDocumentContent": {},
        "configuration": True,
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
        "symbol": {"resolveSupport": {"properties": ["location.range"]}},
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "experimental": {
        "serverStatusNotification": True,
        "fxlsRevisions": True,
        "commands": {"commands": ["fxls.debug", "fxls.showReferences"]},
    },
}
"""An editor with an extension of ours, that can do all there is."""


def net_listing(project: Path, text: str = TEXT, source: str = SOURCE) -> Listing:
    """The listing of the model in `net.py`."""
    path = str(project / "net.py")
    return listing_of(
        text,
        entry="Net()(torch.randn(2))",
        sources={path: source},
        origins={
            "relu": [(path, "torch.relu(x)")],
            "count": [(path, "'𝄞'.count(x)")],
            "add": [(path, "torch.relu(x) + '𝄞'.count(x)")],
        },
        values={"relu": Tensor((2,), "torch.float32", "cpu")},
    )


def spot(line: int, start: int, end: int, end_line: int | None = None) -> Json:
    """A range as the protocol writes it."""
    return {
        "start": {"line": line, "character": start},
        "end": {"line": line if end_line is None else end_line, "character": end},
    }


def where(span: Span) -> Json:
    """A span of plain characters as the protocol writes it."""
    start, end = span.start, span.end
    return spot(start.line, start.column, end.column, end.line)
