"""An answer about a large graph keeps no request of another file waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.ide.document_symbols import outline
from fxls.ide.listing.document import Document
from fxls.ide.semantic_tokens import tokens
from fxls.listing import Identity, Listing
from fxls.store import Store
from tests.support.listings import listing_of
from tests.support.lsp_client import Json, started

COUNT = 20_000


@pytest.fixture(scope="module")
def large() -> Listing:
    calls = [f"    r{n} = relu(r{n - 1});  r{n - 1} = None\n" for n in range(1, COUNT)]
    text = "def forward(self, r0):\n" + "".join(calls) + f"    return r{COUNT - 1}\n"
    layer = {f"r{n}": [("layer", "net.Layer")] for n in range(1, 100)}
    return listing_of(text, identity=Identity("large", "Large"), scopes=layer)


def named(symbol: Json) -> list[str]:
    below = (name for child in symbol.get("children", ()) for name in named(child))
    return [symbol["name"], *below]


@pytest.mark.parametrize(
    "method", ["semanticTokens/full", "documentSymbol", "foldingRange"]
)
def test_a_hover_in_another_listing_is_answered_first(
    project: Path, listing: Path, large: Listing, method: str
) -> None:
    path = Store(project / ".fxls").materialize(large)
    with started() as client:
        client.initialize(project)
        # Both are read before.
        for one in (path, listing):
            client.ask("hover", one, 1, 4)

        whole = {"textDocument": {"uri": path.as_uri()}}
        place = {"line": 5, "character": 4}
        here = {"textDocument": {"uri": listing.as_uri()}, "position": place}
        # In one piece, because else a fast server has answered before the second comes.
        late, hover = client.send_together(
            (f"textDocument/{method}", whole), ("textDocument/hover", here)
        )
        assert client.answer(hover)["result"] is not None
        came = [message.get("id") for message in client.came()]
        found = client.answer(late)["result"]

        assert late not in came
        client.end()

    document = Document(str(path), large)
    if method == "documentSymbol":
        (forward,) = found
        assert named(forward) == named(as_json(outline(document)))
    elif method == "foldingRange":
        assert found == [
            {
                "startLine": 1,
                "endLine": 99,
                "kind": "region",
                "collapsedText": "layer Layer …",
            }
        ]
    else:
        expected = [*tokens(document, 0, len(document.lines))]
        assert len(found["data"]) == 5 * len(expected)
        lengths = [token.mark.length for token in expected]
        assert found["data"][2::5] == lengths
        assert found["data"][3::5] == [token.colour for token in expected]


def as_json(symbol: Json) -> Json:
    return {"name": symbol.name, "children": [*map(as_json, symbol.children)]}
