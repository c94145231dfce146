"""The documents that are made of listings."""

from __future__ import annotations

import re

from fxls.ide.listing.document import Document
from fxls.ide.text_document_content import RevisionRow, revisions_sheet, table_sheet
from fxls.listing import Identity
from fxls.text import LineTable
from tests.ide.nets import (
    LISTING_PATH,
    NET,
    SOURCE_PATH,
)
from tests.support.listings import listing_of

ENTRY = "Net()(torch.randn(1, 3, 8, 8))"


def test_a_table_is_a_text_whose_names_are_links() -> None:
    sheet = table_sheet(NET)
    lines = LineTable(sheet.text)

    title, _, header, x, conv, *_ = sheet.text.split("\n")
    opcodes = "1 placeholder, 2 call_module, 3 call_function, 1 call_method, 1 output"
    assert title == f"Net: 8 nodes ({opcodes}), 1 KiB of activations"
    columns = "name op target args kwargs users shape dtype source"
    assert header.split() == columns.split()
    assert x == "x".ljust(10) + "placeholder    x" + " " * 34 + (
        "1      (1, 3, 8, 8)  float32"
    )
    assert re.split("  +", conv) == [
        "conv",
        "call_module",
        "conv",
        "x",
        "1",
        "(1, 4, 8, 8)",
        "float32",
        "net.py:8",
    ]
    shown = [(lines.slice(link.span), link.there.path) for link in sheet.links[:4]]
    assert shown == [
        ("x", LISTING_PATH),
        ("conv", LISTING_PATH),
        ("x", LISTING_PATH),
        ("net.py:8", SOURCE_PATH),
    ]
    for link in sheet.links:
        assert lines.slice(link.span) == link.tip


def test_a_long_cell_is_cut_and_its_link_stays_on_it() -> None:
    name = "n" * 80
    listing = listing_of(f"def forward(self, {name}):\n    return {name}\n")

    sheet = table_sheet(Document(LISTING_PATH, listing))

    cell = LineTable(sheet.text).slice(sheet.links[0].span)
    assert cell == "n" * 59 + "…"


def test_revisions_are_listed_with_links() -> None:
    rows = [
        RevisionRow("/s/Net_bbbbbbbbbbbb.py", 0.0, ENTRY, 8),
        RevisionRow("/s/Net_aaaaaaaaaaaa.py", 0.0, None, None),
    ]
    sheet = revisions_sheet(Identity("net", "Net", stage="fuse"), rows)
    lines = sheet.text.split("\n")

    assert lines[0] == "net.Net engine fuse"
    assert lines[2].split() == ["revision", "made", "nodes", "entry"]
    assert lines[3].split(maxsplit=3)[::3] == ["Net_bbbbbbbbbbbb.py", f"8      {ENTRY}"]
    assert lines[4].split()[0] == "Net_aaaaaaaaaaaa.py"
    assert [link.there.path for link in sheet.links] == [row.path for row in rows]
