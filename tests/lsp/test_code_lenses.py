"""Lenses as they are sent, beside what lsprotocol writes of the same."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from fxls.ide.code_lenses import (
    Act,
    DebugEntry,
    Lens,
    OpenPlace,
    PeekPlaces,
    ShowTable,
    TraceEntry,
    WriteEntry,
)
from fxls.ide.listing.document import Destination
from fxls.lsp import custom
from fxls.lsp.abilities import Abilities
from fxls.lsp.client import Client
from fxls.lsp.code_lenses import lens_items
from fxls.lsp.encoding import Encoding
from fxls.text import LineTable, Span

OWN = LineTable("é𝄞 x\n  relu𝄞 = 1\n")
OTHER = LineTable("𝄞𝄞 forward\n")
SPAN = Span.of(1, 2, 1, 7)
THERE = Destination("/work/é t.py", Span.of(0, 1, 0, 3), Span.of(0, 1, 0, 3))
CUT = Destination("/work/é t.py", Span.of(0, 3, 9, 4), Span.of(0, 3, 9, 4))
"""The text was shorter when it was looked at."""
UNREAD = Destination("/work/gone.py", Span.of(3, 1, 3, 2), Span.of(3, 1, 3, 2))
URI = "file:///work/%C3%A9%20t.py"
GONE = "file:///work/gone.py"

ACTS: tuple[Act | None, ...] = (
    None,
    OpenPlace(THERE),
    OpenPlace(UNREAD),
    PeekPlaces(SPAN, (THERE, CUT, UNREAD)),
    PeekPlaces(SPAN, ()),
    ShowTable("/work/gone.py"),
    TraceEntry("/work/gone.py", "Net()"),
    DebugEntry("/work/gone.py", "Net()", None),
    DebugEntry("/work/gone.py", "Net()", "/work/é t.py"),
    WriteEntry("/work/gone.py", "Net"),
)
LENSES = [Lens(SPAN, f"lens {number}", act) for number, act in enumerate(ACTS)]


def lines_of(path: str) -> LineTable | None:
    return OTHER if path == THERE.path else None


def sent(client: Client) -> list[Any]:
    return msgspec.json.decode(
        msgspec.json.encode(lens_items(client, LENSES, OWN, lines_of))
    )


def by_lsprotocol(client: Client) -> list[Any]:
    """The same, from the types of lsprotocol."""

    def place(there: Destination, uri: str) -> lsp.Location:
        return lsp.Location(uri, client.range(there.focus, lines_of(there.path)))

    def start(there: Destination) -> list[int]:
        at = client.position(there.focus.start, lines_of(there.path))
        return [at.line, at.character]

    places = [place(THERE, URI), place(CUT, URI), place(UNREAD, GONE)]
    at = client.position(SPAN.start, OWN)
    commands: list[tuple[str, list[Any] | None]] = [
        ("", None),
        (custom.OPEN, [URI, *start(THERE)]),
        (custom.OPEN, [GONE, *start(UNREAD)]),
        (custom.SHOW_REFERENCES, [URI, at, places]),
        (custom.SHOW_REFERENCES, ["", at, []]),
        (custom.TABLE, [GONE]),
        (custom.TRACE, [GONE, "Net()"]),
        (custom.DEBUG, [GONE, "Net()", None]),
        (custom.DEBUG, [GONE, "Net()", URI]),
        (custom.WRITE_ENTRY, [GONE, "Net"]),
    ]
    followed = {custom.TABLE, custom.TRACE, *client.abilities.commands}
    if client.abilities.shows_documents:
        followed.add(custom.OPEN)
    if client.abilities.applies_edits:
        followed.add(custom.WRITE_ENTRY)
    expected = [
        lsp.CodeLens(
            client.range(SPAN, OWN),
            lsp.Command(f"lens {number}", name, arguments=arguments)
            if name in followed
            else lsp.Command(f"lens {number}", ""),
        )
        for number, (name, arguments) in enumerate(commands)
    ]
    return get_converter().unstructure(expected, list[lsp.CodeLens])


@pytest.mark.parametrize("encoding", Encoding)
def test_lenses_are_sent_as_lsprotocol_would_send_them(encoding: Encoding) -> None:
    every = frozenset({custom.DEBUG, custom.SHOW_REFERENCES})
    for shows, edits, commands in itertools.product(
        (False, True), (False, True), (frozenset[str](), every)
    ):
        client = Client(
            Abilities(
                encoding, shows_documents=shows, applies_edits=edits, commands=commands
            )
        )
        assert sent(client) == by_lsprotocol(client)
