"""What a debugger costs generated code, beside a plain function and torch.fx's own.

``python -m benchmarks.debugging`` prints the table, ``--write`` puts it into
docs/debugging.md. A real debugpy is attached by a client of the protocol; the times are
those of one process, before it comes and while it is there, each beside a loop that is
called in turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.debugged import KINDS
from fxls.launching.listening import LOCAL
from tests.support.dap import Session

__all__ = ["main"]

PAGE = Path(__file__).parent.parent / "docs" / "debugging.md"
PATIENCE = 90.0
"""Seconds of the clock that a measurement is waited for."""
SIZES = (100, 256, 512, 1_000, 10_000, 100_000)
ROW = "| {:,} | {} | {:.2f} ms | {} | {} | {} |"
HEAD = """\
| lines | code | no debugger | attached | breakpoint in another file | false condition in it |
|---:|---|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The time of a call without a debugger, and how many times that it takes with one."""

    kind: str
    lines: int
    seconds: float
    attached: float
    elsewhere: float
    inside: float | None
    """None where a breakpoint does not stop, as in code that is in no file; infinite
    where the call took longer than anybody waits."""

    def row(self) -> str:
        if self.inside is None:
            inside = "no breakpoint binds"
        elif math.isinf(self.inside):
            inside = f"no end in {PATIENCE:.0f} s"
        else:
            inside = f"{self.inside:.2f} x"
        return ROW.format(
            *(self.lines, self.kind, self.seconds * 1000),
            *(f"{self.attached:.2f} x", f"{self.elsewhere:.2f} x", inside),
        )


def main() -> None:
    """Measure, and show it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.debugging")
    parser.add_argument("--write", action="store_true", help=f"write to {PAGE.name}")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    rows = [HEAD]
    for lines in options.sizes:
        for kind in KINDS:
            rows.append(cost(kind, lines).row())
            print(rows[-1], flush=True)
    if options.write:
        _write("\n".join(rows))


def cost(kind: str, lines: int) -> Cost:
    """The cost of one function."""
    with tempfile.TemporaryDirectory() as folder, _debugged(kind, lines, folder) as run:
        made = _answer(run)
        with Session.connect(LOCAL, made["port"]) as session:
            other = Path(folder) / "other.py"
            other.write_text("x = 1\n", "utf-8")
            path = Path(made["path"])
            session.attach()
            attached = _timed(run)
            session.set_breakpoints(other, [1])
            elsewhere = _timed(run)
            inside = None
            if path.is_file():
                never = {"line": made["line"], "condition": "False"}
                (bound,) = session.set_breakpoints(path, [never])
                assert (bound.verified, bound.line) == (True, made["line"])
                inside = _timed(run)
    seconds, times = made["none"]["seconds"], made["none"]["times"]
    return Cost(
        *(kind, lines, seconds, attached / times, elsewhere / times),
        None if inside is None else inside / times,
    )


@contextlib.contextmanager
def _debugged(kind: str, lines: int, folder: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-X", "frozen_modules=off", "-m", "benchmarks.debugged"),
            *(kind, str(lines), folder),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _timed(run: subprocess.Popen[str]) -> float:
    typed = cast("IO[str]", run.stdin)
    typed.write("\n")
    typed.flush()
    return _answer(run)["times"]


def _answer(run: subprocess.Popen[str]) -> dict[str, Any]:
    """What the program says next; times are infinite when it says nothing."""
    said = cast("IO[str]", run.stdout)
    ready, _, _ = select.select([said], [], [], PATIENCE)
    return json.loads(said.readline()) if ready else {"times": math.inf}


def _write(table: str) -> None:
    text = PAGE.read_text("utf-8")
    before, begin, rest = text.partition("<!-- benchmarks debugging: begin -->\n")
    _, end, after = rest.partition("<!-- benchmarks debugging: end -->")
    assert begin, "the page says where the table begins"
    assert end, "the page says where the table ends"
    PAGE.write_text(f"{before}{begin}{table}\n{end}{after}", "utf-8")


if __name__ == "__main__":
    main()
