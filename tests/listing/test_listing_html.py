"""A listing as a piece of HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from msgspec.structs import replace

from fxls.listing import Identity, Items
from fxls.listing.html import html_of
from fxls.listing.picture import picture_of
from tests.ide.nets import NET_LISTING, TEXT, tensor
from tests.support.listings import listing_of


class Page(HTMLParser):
    """The tags, their attributes, and the text as a person reads it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_has_the_code_with_shapes_and_a_row_for_each_node() -> None:
    page = Page(html_of(NET_LISTING))

    assert "Net, engine: 8 nodes" in page.text
    code = re.sub(r": f32\[[\d, ]*\]", "", page.text)
    assert TEXT in code
    assert "    conv: f32[1, 4, 8, 8] = self.conv(x);  x = None\n" in page.text
    assert "convcall_moduleconvf32[1, 4, 8, 8]net.py:8" in page.text


def test_what_is_known_of_no_node_has_no_column() -> None:
    listing = listing_of("def forward(self, x):\n    y = torch.f(x)\n    return y\n")
    nodes = tuple(replace(facts, value=None, origin=None) for facts in listing.nodes)

    page = Page(html_of(replace(listing, nodes=nodes)))

    assert "nameoptargetxplaceholder" in page.text.replace("\n", "")
    assert "nameoptargetvaluesource" in Page(html_of(NET_LISTING)).text


def test_it_holds_no_markup_of_the_listing_and_loads_nothing() -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    listing = listing_of(
        f"def forward(self, x):\n    y = torch.f('{evil}', x)\n    return y\n",
        identity=Identity("net", evil),
        values={"y": Items(evil, (tensor(2), tensor(3)))},
    )
    nodes = tuple(replace(facts, target=evil) for facts in listing.nodes)

    page = Page(html_of(replace(listing, nodes=nodes)))

    tags = {"div", "b", "pre", "span", "details", "summary", "table", "tr", "th", "td"}
    drawn = {"svg", "path", "circle", "text", "tspan"}
    assert page.tags == tags | drawn
    place = {"width", "height", "d", "cx", "cy", "r", "x", "y", "dx"}
    colour = {"fill", "fill-opacity", "stroke", "stroke-opacity"}
    font = {"font-family", "font-size"}
    assert page.attributes == {"style"} | place | colour | font
    assert f"y: (f32[2], f32[3]) = torch.f('{evil}', x)" in page.text


def test_a_long_listing_is_cut_and_says_so() -> None:
    body = "".join(f"    x_{n} = torch.relu(x)\n" for n in range(1000))
    listing = listing_of(f"def forward(self, x):\n{body}    return x\n")

    page = Page(html_of(listing))

    assert "… and 503 more lines" in page.text
    assert "… and 502 more nodes" in page.text
    assert "x_600" not in page.text


def test_its_picture_has_an_arc_for_each_use_of_a_node() -> None:
    listing = listing_of(
        "def forward(self, x):\n    relu = torch.relu(x)\n    add = relu + x\n"
        "    return add\n"
    )

    svg = ElementTree.fromstring(picture_of(listing, lambda _: "f32[2]") or "")

    assert ["".join(text.itertext()) for text in svg.iter("text")] == [
        "xf32[2]",
        "relutorch.reluf32[2]",
        "addoperator.addf32[2]",
        "outputf32[2]",
    ]
    # Each begins and ends in the middle of a row: 10 is that of `x`, 70 that of `output`.
    arcs = [re.findall(r" (\d+)", path.get("d", "")) for path in svg.iter("path")]
    assert sorted((int(arc[0]), int(arc[-1])) for arc in arcs) == [
        *((10, 30), (10, 50), (30, 50), (50, 70))
    ]


def test_a_graph_that_nobody_would_read_in_a_cell_has_no_picture() -> None:
    body = "".join(f"    x_{n} = torch.relu(x)\n" for n in range(300))
    listing = listing_of(f"def forward(self, x):\n{body}    return x\n")
    assert picture_of(listing, lambda _: "") is None
    assert "<svg" not in html_of(listing)
