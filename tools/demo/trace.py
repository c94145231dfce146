"""Act 1: the command line makes a listing of each model."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from fxls.store import Store
from tools.demo import screen
from tools.demo.expect import expect
from tools.demo.places import ROOT, STORE, short

__all__ = ["show"]

ROWS = 10
"""Rows of the node table that are shown, the heading with them ..."""
ENDS = 3
"""... and so many of the last."""


def show(model: Path, nodes: int) -> Path:
    """Runs ``fxls trace`` on a model file; the path of the listing."""
    command = [str(Path(sys.executable).with_name("fxls")), "trace", short(model)]
    began = time.perf_counter()
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    took = time.perf_counter() - began
    screen.say(f"$ fxls trace {short(model)}      {took:.1f} s")
    expect(run.returncode == 0, f"fxls trace works\n{run.stdout}{run.stderr}")
    path, summary, listing, table = _parts(run.stdout)
    rows = screen.narrowed([*table[:ROWS], *table[-ENDS:]], leave_out="dtype")
    screen.under(
        [
            f"{short(path)}   {summary}",
            "",
            *screen.excerpt(listing, 14, 4),
            "",
            *rows[:-ENDS],
            f"… {len(table) - len(rows)} more nodes",
            *rows[-ENDS:],
        ]
    )
    made = Store(path.parent).read(path)
    expect(path.is_file() and path.parent == STORE, f"the listing is a file: {path}")
    expect(len(made.nodes) == nodes, f"{nodes} nodes, not {len(made.nodes)}")
    expect(all(map(made.origin, range(1, nodes))), "every node knows its origin")
    return path


def _parts(output: str) -> tuple[Path, str, list[str], list[str]]:
    """The path, the summary, the lines of the listing and those of the table."""
    head, _, table = output.strip().rpartition("\n\n")
    path, summary, _, *listing = head.splitlines()
    return Path(path), summary, listing, table.splitlines()
