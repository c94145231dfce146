"""An answer about a large graph keeps no request of another file waiting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fxls.ide.document_symbols import outline
from fxls.ide.listing.comparable_text import normalized
from fxls.ide.listing.document import Document
from fxls.ide.semantic_tokens import tokens
from fxls.listing import Identity, Listing
from fxls.lsp import custom
from fxls.store import Store
from tests.support.held_asides import started_with_held_asides
from tests.support.listings import listing_of
from tests.support.lsp_client import Json

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


def as_json(symbol: Json) -> Json:
    return {"name": symbol.name, "children": [*map(as_json, symbol.children)]}


def has_colours(found: Json, document: Document) -> None:
    expected = [*tokens(document, 0, len(document.lines))]
    assert len(found["data"]) == 5 * len(expected)
    assert found["data"][2::5] == [token.mark.length for token in expected]
    assert found["data"][3::5] == [token.colour for token in expected]


def has_outline(found: Json, document: Document) -> None:
    (forward,) = found
    assert named(forward) == named(as_json(outline(document)))


def has_folds(found: Json, document: Document) -> None:
    fold = {"startLine": 1, "endLine": 99, "kind": "region"}
    assert found == [fold | {"collapsedText": "layer Layer …"}]


def has_picture(found: Json, document: Document) -> None:
    drawn = [(node["name"], node["line"]) for node in found["nodes"]]
    assert drawn == [(node.name, node.line) for node in document.listing.nodes]


def has_text(found: Json, document: Document) -> None:
    assert found == {"text": normalized(document)}


def is_same(found: Json, document: Document) -> None:
    assert found["same"]
    assert not any(found["summary"].values())


def has_last_rows(found: Json, document: Document) -> None:
    assert [row["node"] for row in found["rows"]] == [COUNT, COUNT - 1, COUNT - 2]
    assert found["found"] == COUNT + 1


def of_document(uri: str) -> Json:
    return {"textDocument": {"uri": uri}}


def about(uri: str) -> Json:
    return {"uri": uri}


def two_sides(uri: str) -> Json:
    return {"old": uri, "new": uri}


def backwards(uri: str) -> Json:
    return {"uri": uri, "sort": "node", "descending": True, "count": 3}


REQUESTS: dict[str, tuple[Callable[[str], Json], Callable[[Json, Document], None]]] = {
    "textDocument/semanticTokens/full": (of_document, has_colours),
    "textDocument/documentSymbol": (of_document, has_outline),
    "textDocument/foldingRange": (of_document, has_folds),
    custom.GRAPH: (about, has_picture),
    custom.NORMALIZED: (about, has_text),
    custom.DIFF: (two_sides, is_same),
    custom.ROWS: (backwards, has_last_rows),
}
"""What is asked about the URI of a listing, and what is true of the answer."""


@pytest.mark.parametrize("method", REQUESTS)
def test_a_hover_in_another_listing_is_answered_first(
    project: Path, listing: Path, large: Listing, method: str
) -> None:
    asked, is_right = REQUESTS[method]
    path, gate = Store(project / ".fxls").materialize(large), project / "let.go"
    with started_with_held_asides(gate) as client:
        client.initialize(project)

        late = client.send(method, asked(path.as_uri()))
        hover = client.ask("hover", listing, 5, 4)
        came = [message.get("id") for message in client.came()]
        gate.touch()
        found = client.answer(late)["result"]

        client.end()

    assert hover is not None
    assert late not in came
    is_right(found, Document(str(path), large))
