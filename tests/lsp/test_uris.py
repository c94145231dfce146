"""Paths as URIs, as every system and every client writes them."""

from __future__ import annotations

import os
from pathlib import PureWindowsPath
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxls.lsp.uris import (
    link_to,
    path_of,
    posix_path,
    posix_uri,
    uri_of,
    windows_path,
    windows_uri,
)
from fxls.text import Point


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/work/net.py", "file:///work/net.py"),
        ("/work/a b#c?%.py", "file:///work/a%20b%23c%3F%25.py"),
        ("/work/é𝄞.py", "file:///work/%C3%A9%F0%9D%84%9E.py"),
        ("/work/\udcff.py", "file:///work/%FF.py"),
        ("/work/c:/net.py", "file:///work/c%3A/net.py"),
    ],
)
def test_a_path_is_a_uri_and_back(path: str, uri: str) -> None:
    assert posix_uri(path) == uri
    assert posix_path(uri) == path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("c:\\work\\net.py", "file:///c:/work/net.py"),
        ("c:\\a b#c%\\é.py", "file:///c:/a%20b%23c%25/%C3%A9.py"),
        ("\\\\server\\share\\net.py", "file://server/share/net.py"),
        ("c:\\half\ud834.py", "file:///c:/half%ED%A0%B4.py"),
    ],
)
def test_a_path_of_windows_is_a_uri_and_back(path: str, uri: str) -> None:
    assert windows_uri(path) == uri
    assert windows_path(uri) == path


@pytest.mark.parametrize(
    "uri",
    [
        "file:///C:/work/net.py",
        "file:///c:/work/net.py",
        # As VS Code writes it.
        "file:///c%3A/work/net.py",
        "file:///C%3a/work/./other/../net.py",
    ],
)
def test_a_drive_is_one_however_it_is_written(uri: str) -> None:
    assert windows_path(uri) == "c:\\work\\net.py"


@settings(max_examples=200)
@given(
    root=st.sampled_from(["c:\\", "Z:\\", "\\\\server\\share\\"]),
    parts=st.lists(
        st.text(
            st.characters(
                exclude_categories=["Cs", "Cc"], exclude_characters='\\/:*?"<>|'
            ),
            min_size=1,
        ).filter(lambda part: set(part) != {"."}),
        min_size=1,
    ),
)
def test_paths_of_windows_are_uris_of_their_parts(root: str, parts: list[str]) -> None:
    path = PureWindowsPath(root, *parts)
    drive = "" if root.startswith("\\\\") else "///"
    uri = f"file:{drive}{quote(path.as_posix(), safe='/:')}"
    assert unquote(windows_uri(str(path))) == unquote(uri)
    assert windows_path(uri) == str(path)[0].lower() + str(path)[1:]


def test_this_machine_is_no_server_of_windows() -> None:
    assert windows_path("file://localhost/work/net.py") == "\\work\\net.py"


@pytest.mark.parametrize("path_of", [posix_path, windows_path, path_of])
@pytest.mark.parametrize(
    "uri", ["fxls:/net/forward.py", "untitled:Untitled-1", "", "file://[", "file:"]
)
def test_other_uris_have_no_path(path_of: object, uri: str) -> None:
    assert callable(path_of)
    assert path_of(uri) is None


def test_the_path_of_a_virtual_document_is_its_uri() -> None:
    assert uri_of("fxls:/net/forward.py") == "fxls:/net/forward.py"


def test_this_system_is_the_one_that_runs() -> None:
    expected = windows_uri if os.name == "nt" else posix_uri

    assert uri_of(os.__file__) == expected(os.__file__)
    # On Windows, the letter of the drive is a small one.
    found = path_of(uri_of(os.__file__)) or ""
    assert os.path.normcase(found) == os.path.normcase(os.__file__)


def test_bytes_that_are_no_name_of_windows_are_no_path_there() -> None:
    assert windows_path("file:///c:/%FF.py") is None


def test_a_link_counts_from_one() -> None:
    path = "c:\\net.py" if os.name == "nt" else "/net.py"

    assert link_to(path, Point(0, 3)) == f"{uri_of(path)}#L1,4"
