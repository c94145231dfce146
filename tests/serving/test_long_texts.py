"""Which documents are read before they are opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from fxls.serving.asides import Asides
from fxls.serving.long_texts import long_text_read

LONG = "x = 1\n" * 10_000


@pytest.mark.parametrize(
    ("name", "text", "is_listing", "expected"),
    [
        pytest.param("net.py", LONG, False, True, id="a long source"),
        pytest.param("net.py", "x = 1\n", False, False, id="a short source"),
        pytest.param("Net_0123456789ab.py", LONG, True, False, id="a long listing"),
        pytest.param("pyproject.toml", LONG, False, False, id="no source"),
    ],
)
def test_a_long_source_is_read_and_nothing_else_is(
    tmp_path: Path, name: str, text: str, is_listing: bool, expected: bool
) -> None:
    uri = (tmp_path / name).as_uri()
    document = lsp.TextDocumentItem(uri, "python", 1, text)
    asked: list[str] = []

    def asks(path: str) -> bool:
        asked.append(path)
        return is_listing

    reading = long_text_read(document, asks, Asides())
    if reading is not None:
        assert asyncio.iscoroutine(reading)
        asyncio.run(reading)

    assert (reading is not None) is expected
    assert asked in ([], [str(tmp_path / name)])
