"""A debugger for a process that was started without one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

from fxls.launching.listening import Address, missing, trouble
from fxls.machine import refusal

__all__ = ["put_debugger_into"]

_LONGEST = 120.0
"""Seconds that debugpy has to get into the process."""
_PATIENCE = 20.0
"""Seconds until somebody listens, once debugpy says that it is done."""


def put_debugger_into(pid: int, where: Address) -> str | None:
    """Let a process listen for a debugger; None, or what is wrong and what to do."""
    problem = missing() or _out_of_reach(pid)
    if problem is not None:
        return problem
    command = [sys.executable, "-P", "-X", "frozen_modules=off", "-m", "debugpy"]
    command += ["--listen", str(where), "--pid", str(pid)]
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"process {pid} did not answer in {_LONGEST:.0f} s"
    if ran.returncode == 0 and _listens(where):
        return None
    said = "\n".join(f"  {line}" for line in ran.stdout.splitlines()[-5:])
    return (
        f"no debugger got into process {pid}; debugpy says at last\n{said}\n"
        "help: It must be a Python program of yours that runs and is not debugged yet, "
        "and the system must allow tracing it (on Linux: kernel.yama.ptrace_scope=0, "
        "or the capability SYS_PTRACE in a container)."
    )


def _out_of_reach(pid: int) -> str | None:
    if pid <= 0:
        return f"{pid} is the number of no process"
    match refusal(pid):
        case ProcessLookupError():
            return f"there is no process {pid}"
        case PermissionError():
            return f"process {pid} belongs to another user"
        case _:
            pass
    if sys.platform == "linux" and shutil.which("gdb") is None:
        return (
            "there is no gdb, with which a debugger gets into a process\nhelp: Install "
            "it, or start the program with `fxls run --listen PORT --no-wait`."
        )
    return None


def _listens(where: Address) -> bool:
    """Whether somebody does, found without a connection: debugpy takes one, once."""
    end = time.monotonic() + _PATIENCE
    while trouble(where) is None:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
