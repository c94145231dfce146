"""What a program sees of a store that cannot be used: one message, and its own results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fxls.engine import symbolic_trace
from fxls.store import Store
from tests.runtime import nets
from tests.runtime.test_install import path_of

PROGRAM = """\
import resource
import sys

import torch
import fxls
from fxls.engine import symbolic_trace
from tests.runtime import nets

limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
fxls.install(sys.argv[1])
for kind in (nets.Net, nets.Block, nets.Net):
    module = symbolic_trace(kind())
    print(module.forward.__code__.co_filename.split()[0], len(module(torch.ones(2, 4))))
"""

PLENTY = 1 << 30


@pytest.mark.slow
def test_a_file_in_the_place_of_the_store_is_named_once(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    root.write_text("in the way")
    assert run(root, PLENTY) == (
        "<fxls 2\n" * 3,
        (
            f"fxls keeps generated code in memory: {root}: cannot be written: a file is"
            " where a folder must be. Move it away or choose another folder with"
            " FXLS_STORE.\n"
        ),
    )


@pytest.mark.slow
def test_a_full_disk_is_named_once(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    said, warned = run(root, 100)
    assert said == "<fxls 2\n" * 3
    start, _, end = warned.partition(": cannot be written: ")
    assert start.startswith(f"fxls keeps generated code in memory: {root}")
    assert end == (
        "the file would be larger than the limit. Raise it or choose another folder"
        " with FXLS_STORE.\n"
    )


def test_a_listing_that_was_edited_is_written_again_and_that_is_said(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    path = path_of(symbolic_trace(nets.Block()))
    text = path.read_text("utf-8")
    path.write_text(text + "# edited\n", "utf-8")
    assert path_of(symbolic_trace(nets.Block())) == path
    assert path.read_text("utf-8") == text
    assert [record.getMessage() for record in caplog.records] == [
        (
            f"{path}: was edited by hand or damaged. It was written again; a debugger or"
            " editor that shows the edited text must open it again."
        )
    ]


def run(root: Path, limit: int) -> tuple[str, str]:
    """What the program says on its standard output, and on the other one."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout, ran.stderr
