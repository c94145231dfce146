"""A quick start changes how long imports take, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import gc, linecache, sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    from lsprotocol import types as lsp
import ssl
a, b = lsp.Position(1, 2), lsp.Position(line=1, character=2)
file = lsp.Position.__init__.__code__.co_filename
print(gc.isenabled(), a == b, a, "self.line" in linecache.getline(file, 3))
try:
    lsp.Position(-1, 0)
except ValueError as error:
    print(error)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where Python keeps what it compiled."""
    return tmp_path / "cache"


def said(cache: Path, **more: str) -> str:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), **more}
    if not more:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


def plain() -> str:
    """What the program says without any of it."""
    program = PROGRAM.replace("with quick_imports():\n    ", "")
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return run.stdout


def test_classes_are_the_same_whether_their_code_was_kept_or_not(cache: Path) -> None:
    expected = plain()

    first = said(cache)
    (kept,) = cache.rglob("quick_start.*.attrs")
    written = kept.stat().st_mtime_ns
    second = said(cache)

    assert [first, second] == [expected, expected]
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xe3", b"i\x01\0\0\0"])
def test_kept_code_that_cannot_be_read_is_made_again(
    cache: Path, content: bytes
) -> None:
    expected = said(cache)
    (kept,) = cache.rglob("quick_start.*.attrs")
    good = kept.read_bytes()
    kept.write_bytes(content)

    assert said(cache) == expected
    assert len(kept.read_bytes()) == len(good)


def test_the_classes_hold_no_copy_of_their_module() -> None:
    program = """\
import sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    from lsprotocol import types as lsp
import attr._make, attrs, cattrs, lsprotocol.converters
print(len(lsp.Position.__init__.__globals__) < 20, attr._make.sys is sys)
hover = {"contents": {"kind": "markdown", "value": "x"}}
converter = lsprotocol.converters.get_converter()
made = converter.structure(hover, lsp.Hover)
print(made.contents, converter.unstructure(made) == hover)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    content = "MarkupContent(kind=<MarkupKind.Markdown: 'markdown'>, value='x')"
    assert run.stdout.split("\n") == ["True True", f"{content} True", ""]


def test_where_python_keeps_nothing_nothing_is_kept(cache: Path) -> None:
    assert said(cache, PYTHONDONTWRITEBYTECODE="1") == plain()
    assert list(cache.rglob("*")) == []
