"""The text of a document that a client changes in parts is the one that it shows."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types as lsp

from fxls.lsp.encoding import Encoding
from fxls.lsp.text_changes import changed

BITS = [
    *(
        "a",
        "é",
        "𝄞",
        "\n",
        "x = 1\n",
        "\f",
        "\u2028",
        "\x85",
        "\x1c",
        "\v",
        "",
        "e\u0301",
    ),
    *("def f():\n    pass\n", "\n\n", "𝄞é\n𝄞"),
]
WIDTHS = {Encoding.UTF8: 1, Encoding.UTF16: 2, Encoding.UTF32: 4}


def positions(text: str, encoding: Encoding) -> list[lsp.Position]:
    """Where a cursor of an editor can be: in front of each character, and at the end."""
    found: list[lsp.Position] = []
    line = units = 0
    for character in text:
        found.append(lsp.Position(line, units))
        units += (
            len(character.encode(f"{encoding.value}-le"))
            if (encoding is not Encoding.UTF8)
            else len(character.encode())
        )
        if character == "\n":
            line, units = line + 1, 0
    return [
        lsp.Position(one.line, one.character // WIDTHS[encoding])
        for one in (*found, lsp.Position(line, units))
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", Encoding)
def test_parts_that_an_editor_changes_make_the_text_that_it_shows(
    encoding: Encoding, end: str
) -> None:
    draw = random.Random(f"{encoding}{end}")
    for _ in range(60):
        shown = "".join(draw.choices(BITS, k=draw.randrange(8))).replace("\n", end)
        known = shown
        for _ in range(10):
            changes: list[lsp.TextDocumentContentChangeEvent] = []
            for _ in range(draw.randrange(1, 4)):
                new = draw.choice(BITS).replace("\n", end)
                places = positions(shown, encoding)
                # No cursor is between the two characters that end a line.
                inside = [
                    at
                    for at in range(len(places))
                    if shown[at - 1 : at + 1] != "\r\n" or not at
                ]
                first, last = sorted(draw.choices(inside, k=2))
                shown = shown[:first] + new + shown[last:]
                where = lsp.Range(places[first], places[last])
                changes.append(lsp.TextDocumentContentChangePartial(where, new))
            known = changed(known, changes, encoding)
            assert known == shown


def test_a_whole_text_and_places_outside_of_the_text_are_taken_as_well() -> None:
    def part(*at: int) -> lsp.TextDocumentContentChangePartial:
        places = lsp.Position(*at[:2]), lsp.Position(*at[2:])
        return lsp.TextDocumentContentChangePartial(lsp.Range(*places), "!")

    whole = lsp.TextDocumentContentChangeWholeDocument("ab\r\nc")
    said = [
        changed("old", [whole, one], Encoding.UTF16)
        for one in (
            part(0, 9, 0, 9),
            part(7, 0, 9, 9),
            part(0, 1, 9, 0),
            part(1, 1, 0, 0),
        )
    ]
    assert said == ["ab!\r\nc", "ab\r\nc!", "a!", "ab\r\nc!"]
