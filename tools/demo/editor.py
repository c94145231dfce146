"""Act 2: what an editor asks the language server, and what it would show."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import msgspec

from fxls.text import Span
from tests.support.lsp_client import LspClient
from tools.demo import screen
from tools.demo.expect import expect, expect_some
from tools.demo.places import RESNET, ROOT, short

__all__ = ["show"]

NODE = "add"
"""The residual add of the first block."""
EXPRESSION = "out + shortcut"
"""What the model says there."""
BLOCKS = 8

_LINK = re.compile(r"\[(`[^`]*`|[^]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"\*\*|`|\\(?=[^\w\s])")


class _Position(msgspec.Struct):
    line: int
    character: int


class _Range(msgspec.Struct):
    start: _Position
    end: _Position

    @property
    def span(self) -> Span:
        """Columns are the same in UTF-16 and in code points where all is ASCII."""
        return Span.of(
            self.start.line, self.start.character, self.end.line, self.end.character
        )


class _Content(msgspec.Struct):
    value: str


class _Hover(msgspec.Struct):
    contents: _Content
    range: _Range


class _Link(msgspec.Struct, rename="camel"):
    target_uri: str
    target_selection_range: _Range

    @property
    def path(self) -> Path:
        return Path(unquote(urlparse(self.target_uri).path))


def show(listing: Path) -> None:
    """Hovers a node of a listing, and goes to the model's line and back."""
    with _server() as client:
        began = time.perf_counter()
        client.initialize(ROOT)
        took = time.perf_counter() - began
        screen.say(f"$ python -m fxls serve      ready in {took:.2f} s")
        print()
        client.open(listing)
        _hover(client, listing)
        place = _definition(client, listing)
        client.open(place.path)
        _implementation(client, listing, place)
        client.end()


@contextmanager
def _server() -> Generator[LspClient]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fxls", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    client = LspClient(process, process.stdout, process.stdin)
    try:
        yield client
    finally:
        client.close()


def _hover(client: LspClient, listing: Path) -> None:
    line, column = _place_of(listing, f"{NODE} = ")
    answer = client.ask("hover", listing, line, column)
    hover = msgspec.convert(expect_some(answer, "a hover on a node"), _Hover)
    card = _plainly(hover.contents.value)
    screen.say(f"hover on `{NODE}`, {short(listing)}:{line + 1}")
    screen.under(
        [*screen.snippet(_text(listing), hover.range.span), "", *card.splitlines()]
    )
    expect("call_function" in card, "the card says what the node is")
    expect("(1, 64, 16, 16)" in card, "the card has the shape")
    expect(EXPRESSION in card, "the card has the model's expression")


def _definition(client: LspClient, listing: Path) -> _Link:
    line, column = _place_of(listing, f"{NODE} = ")
    answer = client.ask("definition", listing, line, column)
    (place,) = _links(answer)
    expect(place.path == RESNET, f"the node came from the model, not {place.path}")
    span = place.target_selection_range.span
    screen.say(f"definition: {short(place.path)}:{span.start.line + 1}")
    screen.under(screen.snippet(_text(RESNET), span))
    covered = _text(RESNET).splitlines()[span.start.line]
    covered = covered[span.start.column : span.end.column]
    expect(covered == EXPRESSION, f"the exact expression, not {covered!r}")
    return place


def _implementation(client: LspClient, listing: Path, place: _Link) -> None:
    start = place.target_selection_range.start
    column = start.character + EXPRESSION.index("+")
    answer = client.ask("implementation", RESNET, start.line, column)
    links = _links(answer)
    screen.say(
        f"and back: implementation of `{EXPRESSION}` is {len(links)} nodes, "
        "one for each block"
    )
    rows = [
        "".join(screen.snippet(_text(listing), link.target_selection_range.span)[:1])
        for link in links
    ]
    screen.under(screen.excerpt(rows, 3, 1))
    expect(len(links) == BLOCKS, f"one add for each block, not {len(links)}")
    expect({link.path for link in links} == {listing}, "all of them in the listing")


def _links(answer: Any) -> list[_Link]:
    return msgspec.convert(expect_some(answer, "the server has an answer"), list[_Link])


def _place_of(path: Path, start: str) -> tuple[int, int]:
    """The line that starts with a text, and the column where it does."""
    for number, row in enumerate(_text(path).splitlines()):
        if row.lstrip().startswith(start):
            return number, len(row) - len(row.lstrip())
    raise AssertionError(f"{path} has no line that starts with {start!r}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _plainly(markdown: str) -> str:
    """Markdown as an editor would show it: code set off, no links and no markup."""
    shown: list[str] = []
    in_code = False
    for row in markdown.splitlines():
        if row.startswith("```"):
            in_code = not in_code
        elif in_code:
            shown.append(f"    {row}")
        elif row:
            shown.append(_MARKUP.sub("", _LINK.sub(lambda link: link[1], row)))
    return "\n".join(shown)
