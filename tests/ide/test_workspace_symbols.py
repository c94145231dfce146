"""Listings and nodes by a few letters."""

from __future__ import annotations

import re

import pytest

from fxls.ide.workspace_symbols import found_listings, found_nodes
from fxls.listing import Identity
from tests.ide.nets import (
    NET,
    NET_LISTING,
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("rn18", ["ResNet18"]),
        ("NET", ["ResNet18", "Net"]),
        ("81", []),
        ("", ["ResNet18", "Net", "Block"]),
        ("net .", ["ResNet18", "Net"]),
    ],
)
def test_a_query_names_what_has_its_letters_in_their_order(
    query: str, found: list[str]
) -> None:
    names = ["ResNet18", "Net", "Block"]
    newest = [(Identity("m", name), "/a") for name in names]

    assert [one.name for one in found_listings(query, newest)] == [
        f"{name}.forward" for name in found
    ]


def test_listings_and_nodes_are_found_by_their_names() -> None:
    newest = [(Identity("net", "Net", rank=1), "/a"), (Identity("gpt", "Block"), "/b")]

    listings = list(found_listings("net", newest))
    nodes = list(found_nodes("blo", [NET]))

    assert [(f.name, f.container, f.path, f.there) for f in listings] == [
        ("Net.forward", "net engine rank 1", "/a", None)
    ]
    assert [(f.name, f.kind, f.there) for f in nodes] == [
        ("block_fc", "call_module", NET.destination(3))
    ]
    assert list(found_nodes("bl", [NET])) == []
    for query in ("out", "con", "add", "operator", "ret"):
        one_by_one = [
            facts.name
            for facts in NET_LISTING.nodes
            if re.search(".*".join(query), f"{facts.name} {facts.target}")
        ]
        assert [found.name for found in found_nodes(query, [NET])] == one_by_one
