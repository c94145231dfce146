"""A text in pieces says what the whole text says, whatever is edited."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from fxls.ide.completion import doubts
from fxls.ide.inlay_hints import source_hints
from fxls.ide.source import gone
from fxls.ide.source.runs import definitions_of
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax import pieces
from fxls.ide.syntax.line_map import LineMap
from fxls.ide.syntax.module_classes import ModuleClass, modules
from fxls.ide.syntax.pieces import comments, defined_names
from fxls.text import LineTable
from tests.ide.model import MODEL, PATH
from tests.ide.test_inlay_hints import traced

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
BODY = "    def forward(self): ...  # fxls: Last(1)\n"
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
    except (tokenize.TokenError, SyntaxError, UnicodeEncodeError, SystemError):
        for line, content in enumerate(text.split("\n")[reached:], reached):
            stripped = content.lstrip()
            if stripped.startswith("#"):
                found.append((line, len(content) - len(stripped), stripped))
    return found


def forget() -> None:
    """What was read of the pieces of earlier texts stays known, but not what they are."""
    for remembered in (vars(pieces)["_pieces"], vars(gone)["_bound"], definitions_of):
        remembered.cache_clear()


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
    forget()
    monkeypatch.setattr(pieces, "_START", re.compile(r"\Z\A"))
    assert by_pieces == [modules(text) for text in texts]
    modules.cache_clear()


@pytest.mark.parametrize(
    "unreadable",
    [
        pytest.param("if x:\n    y\ndef f\0(a,", id="a NUL behind a dedent"),
        pytest.param("x = '\udc80'", id="half a pair of surrogates"),
        pytest.param("f(", id="a bracket that stays open"),
    ],
)
def test_comments_that_fill_a_line_are_found_in_what_python_cannot_read(
    unreadable: str,
) -> None:
    lines = unreadable.count("\n") + 1

    assert [*comments(f"{unreadable}\n# fxls: Net()\n")] == [
        (lines, 0, "# fxls: Net()")
    ]


def test_hints_and_names_by_pieces_are_those_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw, document = random.Random(1), traced()
    texts = [MODEL, *(one for _ in range(200) for one in edited(MODEL, draw))]
    texts += [TEXT + one for one in texts[:100]]

    def said(text: str) -> object:
        forget()
        moves = {document.path: LineMap(MODEL, text)}
        source = SourceFile(PATH, LineTable(text), (document,), moves=moves)
        names = definitions_of(text)
        return (
            source_hints(source, 2, 60),
            names and vars(names),
            vars(gone)["_bound"](text),
        )

    by_pieces = [said(text) for text in texts]
    assert len({str(one) for one in by_pieces}) > 20, "many of them have hints"

    monkeypatch.setattr(pieces, "_START", re.compile(r"\Z\A"))
    assert by_pieces == [said(text) for text in texts]


@pytest.mark.parametrize("quotes", ['"""', "'''", 'rb"""'])
def test_a_class_in_a_string_at_the_left_margin_is_read_with_its_string_alone(
    quotes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def parsed(text: str) -> ast.Module | None:
        read.append(text)
        return own(text)

    own = pieces.parsed
    monkeypatch.setattr(pieces, "parsed", parsed)
    body = BODY.partition("  #")[0] + "\n"
    said = f"{quotes}\nclass A(Module):\n    # fxls: no\n@b\ndef c():\n{quotes[-3:]}\n"
    text = f"class First(Module):\n    text = {said}{body}class Last(Module):\n"
    text += f"    kind = {ord(quotes[0])}\n{BODY}"
    assert [one.name for one in modules(text)] == ["First", "Last"]
    read.clear()
    modules(text.replace("1)", "2)"))
    assert [[*comments(one, "fxls")] for one in (text, text.replace("1)", "2)"))] == [
        [(10, 28, "# fxls: Last(1)")],
        [(10, 28, "# fxls: Last(2)")],
    ]
    last = [text for text in read if "class Last" in text]
    assert {one.partition("\n")[0] for one in last} == {"class Last(Module):"}


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


def test_a_source_is_parsed_once_and_after_a_key_only_the_piece_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classes = [
        f"class Once{number}(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        f"        return torch.relu(x) + {number}\n"
        for number in range(50)
    ]
    text = "import torch\n\n# fxls: Once0()(torch.ones(3))\n" + "".join(classes)
    parsed: list[str] = []
    parse: Any = ast.parse

    def noted(source: str, *rest: Any, **named: Any) -> ast.AST:
        if "\n" in source:
            parsed.append(source)
        tree: ast.AST = parse(source, *rest, **named)
        return tree

    monkeypatch.setattr(ast, "parse", noted)

    def ask(text: str) -> str:
        """Which parts were parsed for what is asked when a source is shown."""
        parsed.clear()
        assert len(modules(text)) == len(classes)
        assert doubts(text, "/net.py") == ()
        assert defined_names(text) == {"torch", *(f"Once{n}" for n in range(50))}
        return "".join(parsed)

    assert ask(text) == text
    assert ask(text) == ""
    assert ask(text.replace("+ 7\n", "+ 70\n")) == classes[7].replace("7\n", "70\n")


def test_qualified_names_are_those_that_python_gives() -> None:
    text = """\
import contextlib
class Outer:
    if contextlib:
        def one(self):
            for _ in ():
                def two(): return [lambda: 0 for _ in ()]
            else:
                class Three:
                    async def four(self): pass
    else:
        def five(self): pass
try:
    def six(): pass
except ValueError:
    def seven(): pass
else:
    def eight(): pass
finally:
    def nine(): pass
while six:
    with contextlib.nullcontext():
        def ten(): pass
match six:
    case 0:
        def eleven():
            async def inner():
                async for _ in ():
                    def twelve(): pass
"""

    def named(code: CodeType) -> Iterator[str]:
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield inner.co_qualname
                yield from named(inner)

    names = {*named(compile(text, PATH, "exec"))}
    expected = {name for name in names if not name.rpartition(".")[2].startswith("<")}
    assert pieces.qualified_names(text) == expected
    assert len(expected) == 14
