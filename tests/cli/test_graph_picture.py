"""The picture of a graph in a page: where boxes and lines stand, and where boxes lead."""

from __future__ import annotations

import html
import random
import re
from itertools import pairwise

import pytest

from fxls.cli.reports.graph_picture import MOST, picture
from fxls.cli.reports.layered_layout import layered
from fxls.ide.listing.document import Document
from fxls.listing import Listing, Tensor
from tests.support.listings import listing_of

HEAD = "def forward(self, x):\n"
HEIGHT = 38


def graph_of(seed: int) -> tuple[list[float], list[set[int]]]:
    """Widths of boxes, and what each of them reads."""
    chance = random.Random(seed)
    count = chance.randrange(1, 60)
    widths = [24.0 * chance.randrange(2, 10) for _ in range(count)]
    near = chance.choice([3, 10, count])
    reads = [
        {chance.randrange(max(0, box - near), box) for _ in range(chance.randrange(4))}
        if box
        else set[int]()
        for box in range(count)
    ]
    return widths, reads


@pytest.mark.parametrize("seed", range(60))
def test_boxes_stand_below_what_they_read_and_no_line_crosses_one(seed: int) -> None:
    widths, reads = graph_of(seed)
    layout = layered(widths, reads)
    rooms = [
        (x, x + width, y) for (x, y), width in zip(layout.boxes, widths, strict=True)
    ]
    pairs = [(read, box) for box, of in enumerate(reads) for read in sorted(of)]

    assert layout == layered(widths, reads)
    for left, right, top in rooms:
        assert -0.01 <= left < right <= layout.width + 0.01
        assert 0 <= top <= layout.height - HEIGHT
    for top in {top for _, _, top in rooms}:
        beside = sorted(one for one in rooms if one[2] == top)
        assert all(one[1] < other[0] for one, other in pairwise(beside))
    assert len(layout.lines) == len(pairs)
    for line, (read, box) in zip(layout.lines, pairs, strict=True):
        upper, lower = rooms[read], rooms[box]
        assert upper[2] < lower[2]
        above = ((upper[0] + upper[1]) / 2, upper[2] + HEIGHT)
        assert line[0] == pytest.approx(above)
        assert line[-1] == pytest.approx(((lower[0] + lower[1]) / 2, lower[2]))
        for (x0, y0), (x, y) in pairwise(line):
            # Between layers there is no box, and beside boxes a line goes down.
            is_between = y0 % (HEIGHT + 30) == HEIGHT
            assert is_between or x0 == x
            assert y0 < y
            if not is_between:
                assert not any(
                    left < x < right for left, right, top in rooms if top == y0
                )


def test_nothing_is_drawn_of_nothing() -> None:
    assert layered([], []) == layered([], [])
    assert layered([], []).boxes == ()


def drawn(listing: Listing) -> tuple[str | None, str]:
    return picture(Document("", listing), "Net_0", html.escape)


def boxes_in(svg: str) -> list[tuple[str, str, list[str]]]:
    """Of each box the fragment that it leads to, its colour and its texts."""
    found = re.findall(r'<a href="(.*?)"><rect(?: class="(k\d)")?[^>]*/>(.*?)</a>', svg)
    return [(to, kind, re.findall(r">([^<]+)<", texts)) for to, kind, texts in found]


def test_a_box_has_a_name_a_value_and_a_colour_and_leads_to_its_line() -> None:
    text = f"{HEAD}    relu = torch.relu(x)\n    add = relu + x\n    return add\n"
    listing = listing_of(text, values={"relu": Tensor((2, 7), "float32", "cpu")})
    svg, said = drawn(listing)

    assert svg is not None
    assert said == "Picture"
    assert boxes_in(svg) == [
        ("#Net_0-1", "k1", ["x", "x"]),
        ("#Net_0-2", "k0", ["relu", "f32[2, 7]"]),
        ("#Net_0-3", "k0", ["add", "add"]),
        ("#Net_0-4", "k5", ["output", "output"]),
    ]
    # Four lines, each with its head.
    assert len(re.findall("M", "".join(re.findall('<path d="(.*?)"', svg)))) == 8


def long(count: int, scopes: int = 0) -> Listing:
    """A graph of so many relus, the first of them in so many submodules, alike."""
    names = [f"relu_{at}" for at in range(count)]
    lines = [
        f"    {name} = torch.relu({before})\n"
        for before, name in pairwise(["x", *names])
    ]
    each = count // (scopes or 1)
    return listing_of(
        f"{HEAD}{''.join(lines)}    return {names[-1]}\n",
        scopes={
            name: [(f"layers.{at // each}", "net.Layer")]
            for at, name in enumerate(names)
            if scopes
        },
    )


def test_where_nodes_are_too_many_submodules_are_closed() -> None:
    svg, said = drawn(long(520, scopes=4))

    assert svg is not None
    assert said == "Picture, with 1 submodule closed"
    found = boxes_in(svg)
    assert len(found) == 393 <= MOST
    assert found[1][2] == ["relu_0", "relu"]
    assert found[-2:] == [
        ("#Net_0-392", "", ["layers.3", "Layer · 130 nodes"]),
        ("#Net_0-522", "k5", ["output", "output"]),
    ]


def test_a_graph_without_a_picture_says_why() -> None:
    said = (
        "There is no picture: a page draws 400 boxes, and this graph has 522 side by"
        " side. The editor draws it."
    )
    assert drawn(long(520)) == (None, said)


def test_names_mean_nothing_in_a_picture() -> None:
    evil = '"><script>'
    listing = listing_of(
        f"{HEAD}    relu = torch.relu(x)\n    return relu\n",
        values={"relu": Tensor((evil,), "float32", "cpu")},
    )
    svg, _ = drawn(listing)

    assert svg is not None
    assert evil not in svg
    assert html.escape(evil) in svg
