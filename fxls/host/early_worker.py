"""A worker that begins before the server's own imports, so that it has torch sooner.

Imports little, because it is what comes first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["JOBS", "EarlyWorker", "worker_command"]

JOBS = 2
"""How many traces run at a time."""


def worker_command(python: str, jobs: int, options: Sequence[str] = ()) -> list[str]:
    """The command that starts a worker, which speaks over its standard streams."""
    # Without -P, a file fxls.py of the folder would be what runs.
    return [python, "-P", "-m", "fxls.worker", f"--jobs={jobs}", *options]


class EarlyWorker:
    """A worker of this interpreter in this folder; whoever wants such a one takes it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            worker_command(sys.executable, JOBS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # So that Ctrl-C in a terminal ends the server, which then ends it.
            start_new_session=True,
        )
        self._folder = os.getcwd()  # noqa: PTH109 - pathlib takes long to import

    def taken(self, python: str, folder: str | None) -> subprocess.Popen[bytes] | None:
        """The process, for the first who wants one of this interpreter and folder."""
        real = os.path.realpath
        if python != sys.executable or real(folder or ".") != real(self._folder):
            return None
        process, self._process = self._process, None
        return process

    def close(self) -> None:
        """End it, when nobody took it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
