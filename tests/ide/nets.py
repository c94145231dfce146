"""The model and the listing that the tests of `ide` ask about."""

from __future__ import annotations

from fxls.ide.listing.document import Document
from fxls.listing import Identity, Listing, Tensor
from fxls.text import Point
from tests.support.drawing import cursor
from tests.support.listings import listing_of

SOURCE_PATH = "/work/net.py"
BLOCK_PATH = "/work/block.py"
LISTING_PATH = "/work/.fxls/Net_0123456789ab.py"

SOURCE: str = """\
import torch
from block import Block


# fxls: Net()(torch.randn(1, 3, 8, 8))
class Net(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(self.conv(x))
        return self.block(y) + y.view(
            -1,
        )
"""

BLOCK: str = """\
class Block(torch.nn.Module):
    def forward(self, h):
        return double(self.fc(h))


def double(x):
    return x * 2
"""

TEXT: str = """\
import torch

def forward(self, x):
    conv = self.conv(x);  x = None
    relu = torch.relu(conv);  conv = None
    block_fc = self.block.fc(relu)
    mul = block_fc * 2;  block_fc = None
    view = relu.view(-1);  relu = None
    add = mul + view;  mul = None;  view = None
    return add
"""

BLOCK_CALL = (SOURCE_PATH, "self.block(y)")
VIEW = "y.view(\n            -1,\n        )"


def tensor(*shape: int) -> Tensor:
    return Tensor(shape, "torch.float32", "cpu")


NET_LISTING: Listing = listing_of(
    TEXT,
    entry="Net()(torch.randn(1, 3, 8, 8))",
    sources={SOURCE_PATH: SOURCE, BLOCK_PATH: BLOCK},
    origins={
        "conv": [(SOURCE_PATH, "self.conv(x)")],
        "relu": [(SOURCE_PATH, "torch.relu(self.conv(x))")],
        "block_fc": [(BLOCK_PATH, "self.fc(h)"), BLOCK_CALL],
        "mul": [(BLOCK_PATH, "x * 2"), (BLOCK_PATH, "double(self.fc(h))"), BLOCK_CALL],
        "view": [(SOURCE_PATH, VIEW)],
        "add": [(SOURCE_PATH, f"self.block(y) + {VIEW}")],
    },
    values={
        "x": tensor(1, 3, 8, 8),
        "conv": Tensor(
            (1, 4, 8, 8), "torch.float32", "cpu", (256, 64, 8, 1), 1024, True
        ),
        "relu": tensor(1, 4, 8, 8),
    },
    scopes={
        "conv": [("conv", "torch.nn.modules.conv.Conv2d")],
        "block_fc": [("block", "block.Block"), ("block.fc", "torch.nn.Linear")],
        "mul": [("block", "block.Block")],
    },
    details={"conv": "Conv2d(3, 4, kernel_size=(3, 3))"},
)

NET = Document(LISTING_PATH, NET_LISTING)

EXPORTED = Document(
    "/work/.fxls/Net_ba9876543210.py",
    listing_of(
        "def forward(self, x):\n    conv2d = torch.conv2d(x)\n    return conv2d\n",
        identity=Identity("net", "Net", "export", "decomposed"),
        sources={SOURCE_PATH: SOURCE},
        origins={"conv2d": [(SOURCE_PATH, "self.conv(x)")]},
    ),
)


def source_text(path: str) -> str | None:
    """The files that exist."""
    return {SOURCE_PATH: SOURCE, BLOCK_PATH: BLOCK}.get(path)


TWICE = Document(
    LISTING_PATH,
    listing_of(
        """\
# fxls
import torch

def forward(self, x):
    a = self.layer.fc(x)
    b = torch.relu(a)
    c = self.head(b)
    d = self.layer.fc(c)
    e = torch.relu(d)
    return e
""",
        scopes={
            "a": [("layer", "net.Layer"), ("layer.fc", "torch.nn.Linear")],
            "b": [("layer", "net.Layer"), ("layer.act", "net.Act")],
            "c": [("head", "torch.nn.Linear")],
            "d": [("layer", "net.Layer"), ("layer.fc", "torch.nn.Linear")],
            "e": [("layer", "net.Layer")],
        },
    ),
)


def at(marked: str) -> Point:
    """The point of the ``$0`` in a line of `NET`."""
    line, point = cursor(marked)
    return Point(TEXT.split("\n").index(line), point.column)
