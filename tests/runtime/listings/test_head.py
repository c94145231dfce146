"""The comment above the code of a listing, and what leads somewhere in it."""

from __future__ import annotations

from fxls.engine import symbolic_trace
from fxls.listing import HeadLink, ToClass, ToLine
from fxls.runtime import listing_of
from fxls.runtime.listings.head import Head, Leading, head_of
from tests.runtime import nets

LINE = ToLine("/work/net.py", 7)


def test_a_link_is_where_its_words_stand_in_the_text() -> None:
    head = head_of(
        [
            ("The code of ", Leading("code", ToClass()), "'s graph."),
            ("  At ", Leading("größe𝛑.py", LINE), ", and at ", Leading("net", LINE)),
            ("",),
            ("  a space at the end ",),
        ]
    )

    assert head == Head(
        (
            "# The code of code's graph.",
            "#   At größe𝛑.py, and at net",
            "#",
            "#   a space at the end",
        ),
        (
            HeadLink(0, 14, 4, ToClass()),
            HeadLink(1, 7, 9, LINE),
            HeadLink(1, 25, 3, LINE),
        ),
    )


def test_the_head_of_an_engines_listing_leads_to_the_class() -> None:
    listing = listing_of(symbolic_trace(nets.Net()))

    (link,) = listing.links
    line = listing.text.split("\n")[link.line]
    assert line == (
        "# The code of Net's graph, written by fxls. To change it, change the model."
    )
    assert (line[link.column : link.column + link.length], link.to) == (
        "Net",
        ToClass(),
    )
    assert listing.parents == ()
