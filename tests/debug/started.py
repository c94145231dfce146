"""A program that runs on its own, and to which a debugger comes later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, cast

from tests.debug.project import Project

__all__ = ["Started", "started"]


class Started:
    """A process of ``python -m fxls``, or of a program, that was not waited for."""

    def __init__(self, process: subprocess.Popen[str], printed: IO[str]) -> None:
        self.process = process
        self._printed = printed

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
        """What it ended with, and printed."""
        code = self.process.wait(600)
        self._printed.seek(0)
        return code, self._printed.read()


@contextmanager
def started(project: Project, *arguments: str) -> Generator[Started]:
    """``python ARGUMENTS`` in the folder of a project; nothing is left of it behind."""
    # Not a pipe: the debugger's adapter, which stays longer, holds it as well.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=project.folder,
            env={**os.environ, **project.env},
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield Started(process, printed)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stderr):
                with contextlib.suppress(BrokenPipeError):
                    cast("IO[str]", pipe).close()
