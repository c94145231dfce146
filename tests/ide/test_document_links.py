"""The links in the head of a listing."""

from __future__ import annotations

from msgspec.structs import replace

from fxls.ide.document_links import DocumentLink, links
from fxls.ide.listing.document import Destination, Document
from fxls.listing import HeadLink, ToClass, ToLine, ToParent
from fxls.text import Span
from tests.ide.nets import (
    LISTING_PATH,
    SOURCE,
    SOURCE_PATH,
    TEXT,
    source_text,
)
from tests.support.listings import listing_of

CLASS = Destination(SOURCE_PATH, Span.of(5, 0, 5, 27), Span.of(5, 6, 5, 9))


def test_the_class_in_the_head_of_a_listing_is_a_link() -> None:
    text = "# The code of Net's graph.\n" + TEXT
    listing = listing_of(
        text,
        sources={SOURCE_PATH: SOURCE},
        origins={"conv": [(SOURCE_PATH, "self.conv(x)")]},
    )
    linked = replace(listing, links=(HeadLink(0, 14, 3, ToClass()),))

    assert [*links(Document(LISTING_PATH, linked), source_text)] == [
        DocumentLink(Span.of(0, 14, 0, 17), CLASS, "the source of Net")
    ]
    # Its source is gone, or the listing is older than links.
    assert [*links(Document(LISTING_PATH, linked), lambda _: None)] == []
    assert [*links(Document(LISTING_PATH, listing), source_text)] == []


def test_other_graphs_and_lines_in_the_head_are_links() -> None:
    text = (
        "# It was made from Net_bbbbbbbbbbbb.py, and Net_cccccccccccc.py is another.\n"
        "#   At net.py, line 3, in forward, and net.py, line 7.\n"
    )
    listing = replace(
        listing_of(text + TEXT, sources={SOURCE_PATH: SOURCE}),
        links=(
            HeadLink(0, 19, 19, ToParent("Net_bbbbbbbbbbbb.py")),
            # Of two files of one name it is the one that no node came from.
            HeadLink(1, 7, 14, ToLine("/work/other/net.py", 2)),
        ),
    )
    top, third = Span.of(0, 0, 0, 0), Span.of(2, 0, 2, 0)
    end = DocumentLink(
        Span.of(1, 7, 1, 21),
        Destination("/work/other/net.py", third, third),
        "where the graph ends",
    )

    assert [*links(Document(LISTING_PATH, listing), lambda _: None)] == [
        DocumentLink(
            Span.of(0, 19, 0, 38),
            Destination("/work/.fxls/Net_bbbbbbbbbbbb.py", top, top),
            "the graph it was made from",
        ),
        end,
    ]
    virtual = Document("fxls:/net.Net-torch.compile-0/forward.py", listing)
    assert [*links(virtual, lambda _: None)] == [end]
