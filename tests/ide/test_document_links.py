"""The links in the head of a listing."""

from __future__ import annotations

from pathlib import PurePath

from fxls.ide.document_links import links
from fxls.ide.listing.document import Destination, Document
from fxls.text import Span
from tests.ide.nets import (
    LISTING_PATH,
    NET,
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

    (link,) = links(Document(LISTING_PATH, listing), source_text)

    assert (link.span, link.there) == (Span.of(0, 14, 0, 17), CLASS)
    assert links(NET, source_text) == ()


def test_other_graphs_and_lines_in_the_head_are_links() -> None:
    head = [
        "# The code of Net's graph, made by torch.compile and written by fxls.",
        "# It was made from Net_0123456789ab.py.",
        "# It ends in a graph break: Call to print",
        f"#   At {PurePath(SOURCE_PATH).name}, line 3, in forward, and other.py, line 1.",
    ]
    text = "\n".join([*head, TEXT, "# Net_0123456789ab.py"])
    listing = listing_of(text, sources={SOURCE_PATH: SOURCE})

    parent, end = links(Document(LISTING_PATH, listing), lambda _: None)

    assert (head[1][parent.span.start.column : parent.span.end.column], parent.tip) == (
        *("Net_0123456789ab.py", "the graph it was made from"),
    )
    folder = PurePath(LISTING_PATH).parent
    assert parent.there.path == str(folder / "Net_0123456789ab.py")
    assert (end.there.path, end.there.focus) == (SOURCE_PATH, Span.of(2, 0, 2, 0))
    assert end.tip == "where the graph ends"
    virtual = Document("fxls:/net.Net-torch.compile-0/forward.py", listing)
    assert [link.tip for link in links(virtual, lambda _: None)] == [end.tip]
