"""Paths as URIs."""

from __future__ import annotations

import sys

import pytest

from fxls.lsp.uris import link_to, path_of, uri_of
from fxls.text import Point

posix = pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/work/net.py", "file:///work/net.py"),
        ("/work/a b#c?%.py", "file:///work/a%20b%23c%3F%25.py"),
        ("/work/é𝄞.py", "file:///work/%C3%A9%F0%9D%84%9E.py"),
        ("/work/\udcff.py", "file:///work/%FF.py"),
    ],
)

assert sys.platform != "win32", "the examples are those of other systems"


@posix
def test_a_path_is_a_uri_and_back(path: str, uri: str) -> None:
    assert uri_of(path) == uri
    assert path_of(uri) == path


@pytest.mark.parametrize(
    "uri", ["fxls:/net/forward.py", "untitled:Untitled-1", "", "file://[", "file:"]
)
def test_other_uris_have_no_path(uri: str) -> None:
    assert path_of(uri) is None


def test_a_link_counts_from_one() -> None:
    assert link_to("/work/net.py", Point(0, 3)) == "file:///work/net.py#L1,4"
