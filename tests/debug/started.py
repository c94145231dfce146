"""A program that runs on its own, and to which a debugger comes later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, cast

from tests.debug.project import Project

__all__ = ["Started", "started"]


class Started:
    """A process of ``python -m fxls``, or of a program, that was not waited for."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def says(self, beginning: str) -> str:
        """The rest of the line on standard error that begins so; earlier ones are lost."""
        lines: list[str] = []
        for line in cast("IO[str]", self.process.stderr):
            if line.startswith(beginning):
                return line.removeprefix(beginning).strip()
            lines.append(line)
        raise AssertionError(f"ended without saying {beginning!r}:\n{''.join(lines)}")

    def type(self, line: str) -> None:
        """Give it a line on standard input."""
        typed = cast("IO[str]", self.process.stdin)
        typed.write(f"{line}\n")
        typed.flush()

    def ended(self) -> tuple[int, str]:
        """What it ended with, and printed; it gets no more input."""
        out, _ = self.process.communicate(timeout=120)
        return self.process.returncode, out


@contextmanager
def started(project: Project, *arguments: str) -> Generator[Started]:
    """``python ARGUMENTS`` in the folder of a project; nothing is left of it behind."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=project.folder,
        env={**os.environ, **project.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Started(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
