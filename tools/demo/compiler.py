"""Act 4: what torch.compile made of a line, pass by pass, down to the kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.demo import screen
from tools.demo.expect import expect
from tools.demo.places import COMPILED, GPT, ROOT, STORE, short

__all__ = ["show"]

LINE = "scores = q @ "
"""The line of the model that is asked about: the scores of the attention."""
PASS = "post_grad_custom_post_pass"
"""What inductor calls the pass that the program brings."""
CALLED = "softmax"
"""What the division of the line is fused with."""
ROWS = 4
"""Rows of kernels that are shown."""


def show() -> None:
    """Runs the example under torch.compile, and asks what became of it."""
    if not _has_compiler():
        screen.say("left out: inductor needs a C++ compiler, and there is none here")
        return
    ran = _fxls("run", short(COMPILED))
    expect("logits (1, 16, 256)" in ran, "the program prints the shape of its logits")
    screen.under([ran.splitlines()[-1]])
    _kernels(_fxls("runs", "-1"))
    _what_the_pass_did(_fxls("diff", f"pass:{PASS}", ends_with=1))
    _way_of_the_line(_fxls("passes", "--became", _line()))
    page = STORE / "report.html"
    said = _fxls("report", "-1", "-o", short(page))
    expect(page.is_file(), "the page is written")
    screen.under([*said.splitlines(), f"{page.stat().st_size / 1e6:.1f} MB"])


def _kernels(said: str) -> None:
    lines = said.splitlines()
    (graph,) = (n for n, one in enumerate(lines) if one.startswith("0/0  forward"))
    (first,) = (n for n, one in enumerate(lines) if ", kernels  " in one)
    kernels = lines[first + 1 :]
    expect(PASS in lines[graph + 1], f"the record has the pass: {lines[graph + 1]}")
    expect(len(kernels) > ROWS, f"there are kernels: {kernels}")
    expect(all("from examples/gpt.py:" in one for one in kernels), "each from a line")
    screen.under(
        [
            *lines[graph : graph + 2],
            *lines[first : first + ROWS],
            f"… {len(kernels) - ROWS + 1} more kernels",
        ]
    )


def _what_the_pass_did(said: str) -> None:
    change = said.splitlines()[-1]
    expect(change.startswith("~ div  target torch.ops.aten.div.Tensor ->"), said)
    screen.under(said.splitlines()[2:])


def _way_of_the_line(said: str) -> None:
    lines = said.splitlines()
    graphs = [n for n, one in enumerate(lines) if "graph 0" in one]
    expect(f"  {PASS}: altered div" in lines, "the line knows the pass")
    calls = [one.strip() for one in lines[graphs[-1] + 1 :] if ":" in one]
    expect("kernels" in lines[graphs[-1]], f"the last is a graph of kernels: {lines}")
    expect(any(CALLED in one for one in calls), f"the line has a kernel: {calls}")
    last_two = [*lines[: graphs[1]], "…", *lines[graphs[-2] :]]
    screen.under(last_two)


def _line() -> str:
    lines = GPT.read_text("utf-8").split("\n")
    (number,) = (n for n, one in enumerate(lines, 1) if LINE in one)
    return f"{short(GPT)}:{number}"


def _fxls(*arguments: str, ends_with: int = 0) -> str:
    """What a command prints."""
    program = Path(sys.executable).with_name("fxls")
    began = time.perf_counter()
    ran = subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "FXLS_STORE": str(STORE)},
    )
    took = time.perf_counter() - began
    command = " ".join(["fxls", *arguments])
    screen.say(f"$ {command}      {took:.1f} s")
    expect(ran.returncode == ends_with, f"{command} works\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def _has_compiler() -> bool:
    """Whether inductor finds what compiles its kernels."""
    named = os.environ.get("CXX", "")
    return any(map(shutil.which, filter(None, (named, "g++", "clang++", "cl"))))
