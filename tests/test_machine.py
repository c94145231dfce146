"""A process is asked whether it is there, and goes on."""

from __future__ import annotations

import subprocess
import sys

from fxls.machine import refusal

# Ends with its standard input.
WAITING = [sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(7)"]


def test_a_process_that_is_asked_goes_on() -> None:
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE) as process:
        found = refusal(process.pid)
    assert (found, process.returncode) == (None, 7)


def test_a_process_that_ended_is_not_found() -> None:
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE) as process:
        pass
    # On Windows nobody is asked.
    found = refusal(process.pid)
    assert isinstance(found, ProcessLookupError) == (sys.platform != "win32")


def test_a_number_that_stands_for_several_processes_is_not_asked() -> None:
    assert (refusal(0), refusal(-1)) == (None, None)
