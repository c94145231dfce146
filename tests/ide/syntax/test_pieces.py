"""A text in pieces says what the whole text says, whatever is edited."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxls.ide.syntax import pieces
from fxls.ide.syntax.module_classes import ModuleClass, modules
from fxls.ide.syntax.pieces import comments

HERE = Path(__file__).parents[3]
TEXT = '''\
"""A text with all that a piece may be cut in.

class Said(Module):
    # fxls: in_a_string
"""
import torch  # the library
from torch.nn import Module

@decorated  # twice
@decorated(
    1,  # fxls: in brackets
)
class Net(Module):
    # fxls: Net()
    def __init__(self, width=3, *, bias: bool = True, **more):
        self.text = """
class Other(Module):
@decorated  # not a comment
"""

    async def forward(self, x: torch.Tensor):
        return x  # shape

if torch:
    pass
else:
    def late(): return 1
class Sub(Net):
    forward = None
    def forward(self, x, y=f"{1}"): return "# none" + 'x'
def function(a,
b=1): return (a,
b)
class Twice(Module):
    def forward(self): ...
class Twice(Module):
    def forward(self): ...
async def g(): await g()
x = [
    1,
    2]  # fxls[export]: Sub()
'''
BITS = [
    *('"""', "'''", '"', "'", "(", ")", "[", "]", "{", "#", "\\", "\n", "    ", "\t"),
    *("class A(Module):\n    def forward(self): ...\n", "def f(): ...\n", "@d\n", "?"),
    *("# fxls: A()", 'f"{x}"', "x = \\\n", "\r", "\r\n", "\f", "\0", ": ", "else:\n"),
    *("async ", "\udc80", "é", "  class ", "$ = 1\n", "\n\n"),
]


def edited(text: str, draw: random.Random) -> Iterator[str]:
    """The text after each of some keys, as they are pressed and taken back."""
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(text) + 1)
        if draw.random() < 0.4:
            text = text[:at] + text[at + draw.randrange(1, 40) :]
        else:
            text = text[:at] + draw.choice(BITS) + text[at:]
        yield text


def whole_comments(text: str) -> list[tuple[int, int, str]]:
    """As Python's own tokenizer has them, which begins where the text does."""
    found: list[tuple[int, int, str]] = []
    reached = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            reached = token.end[0]
            if token.type == tokenize.COMMENT:
                found.append((token.start[0] - 1, token.start[1], token.string))
    except (tokenize.TokenError, SyntaxError):
        for line, content in enumerate(text.split("\n")[reached:], reached):
            stripped = content.lstrip()
            if stripped.startswith("#"):
                found.append((line, len(content) - len(stripped), stripped))
    return found


def test_pieces_say_what_the_whole_says(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    own = (HERE / "fxls" / "ide" / "samples" / "first_layer.py").read_text("utf-8")
    resnet = (HERE / "examples" / "resnet.py").read_text("utf-8")
    texts = [TEXT, resnet, *(one for _ in range(200) for one in edited(TEXT, draw))]
    texts += [one for _ in range(15) for one in edited(resnet, draw)]
    texts += [one for _ in range(3) for one in edited(own, draw)]

    by_pieces: list[tuple[ModuleClass, ...]] = []
    for text in texts:
        assert [*comments(text)] == whole_comments(text), text
        by_pieces.append(modules(text))
    assert len(set(by_pieces)) > 20, "many of them can be read"

    modules.cache_clear()
    monkeypatch.setattr(pieces, "_START", re.compile(r"\Z\A"))
    assert by_pieces == [modules(text) for text in texts]
    modules.cache_clear()


def test_a_key_reads_its_piece_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def parsed(text: str) -> ast.Module | None:
        read.append(text)
        return own(text)

    own = pieces.parsed
    monkeypatch.setattr(pieces, "parsed", parsed)
    text = TEXT[TEXT.index("if torch:") :]
    modules(text)
    read.clear()
    modules(text.replace("y=f", "z=f"))
    assert [text.partition("\n")[0] for text in read] == ["class Sub(Net):"]
