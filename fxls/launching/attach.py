"""A debugger for a process that was started without one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from fxls.launching.listening import Address, is_taken, missing
from fxls.machine import refusal

__all__ = ["put_debugger_into"]

_LONGEST = 120.0
"""Seconds that debugpy has to get into the process."""
_PATIENCE = 20.0
"""Seconds until somebody listens, once debugpy says that it is done."""

_SCANNED = "PYDEVD_GDB_SCAN_SHARED_LIBRARIES"
"""Which libraries debugpy lets gdb read, by parts of their names; all, where it is unset."""
_NEEDED = "/libc[.-],/libdl[.-],/libpthread[.-]"
"""Those of glibc that open a library. To read all of torch takes gdb 12 s, and the process
stands still."""


def put_debugger_into(pid: int, where: Address, env: Mapping[str, str]) -> str | None:
    """Let a process listen for a debugger; None, or what is wrong and what to do.

    debugpy runs in the environment `env`.
    """
    problem = missing() or _out_of_reach(pid) or _unfit_gdb(env)
    if problem is not None:
        return problem
    chosen = env.get(_SCANNED)
    try:
        ran = _debugpy(pid, where, {_SCANNED: _NEEDED, **env})
        # Another C library has other names. What failed for any other reason is tried
        # again, too.
        if chosen is None and not _is_in(ran, where):
            ran = _debugpy(pid, where, env)
    except subprocess.TimeoutExpired:
        return f"process {pid} did not answer in {_LONGEST:.0f} s"
    if _is_in(ran, where):
        return None
    said = "\n".join(f"  {line}" for line in ran.stdout.splitlines()[-5:])
    return (
        f"no debugger got into process {pid}; debugpy says at last\n{said}\n"
        "help: It must be a Python program of yours that runs and is not debugged yet, "
        "and the system must allow tracing it (on Linux: kernel.yama.ptrace_scope=0, "
        "or the capability SYS_PTRACE in a container)."
    )


def _debugpy(
    pid: int, where: Address, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-X", "frozen_modules=off", "-m", "debugpy"]
    command += ["--listen", str(where), "--pid", str(pid)]
    return _ended(command, env)


def _ended(
    command: Sequence[str], env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A command that was run, with all that it printed."""
    return subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_LONGEST,
        check=False,
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


def _unfit_gdb(env: Mapping[str, str]) -> str | None:
    """What is wrong with gdb, tried on a process of our own.

    Where gdb cannot write the registers of the processor, as gdb 13 where that has AMX,
    it leaves a process with what a system call was interrupted with, and that ends it.
    """
    if sys.platform != "linux":
        return None
    waiting = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(waiting, stdin=pipe, stdout=pipe, stderr=pipe) as own:
        assert own.stdout is not None, "it is a pipe"
        own.stdout.readline()  # it has begun
        command = ["gdb", "--nw", "--nh", "--nx", "--batch", "--pid", str(own.pid)]
        try:
            ran = _ended([*command, "--eval-command", "print (int)getpid()"], env)
        except subprocess.TimeoutExpired:
            return f"gdb did not get into a process of fxls's own in {_LONGEST:.0f} s"
        finally:
            own.kill()
    if f" = {own.pid}\n" in ran.stdout:
        return None
    said = [one for one in ran.stdout.splitlines() if not one.startswith("[")]
    return (
        "gdb cannot call a function in a process here, not even in one of fxls's own; it"
        f" says {''.join(said[-1:])!r}\n"
        "help: Try a newer gdb, or start the program with `fxls run --listen PORT "
        "--no-wait`, which needs none. In a container gdb needs the capability "
        "SYS_PTRACE, elsewhere kernel.yama.ptrace_scope=0."
    )


def _is_in(ran: subprocess.CompletedProcess[str], where: Address) -> bool:
    """Whether debugpy got into the process, and somebody listens there before long."""
    end = time.monotonic() + _PATIENCE
    while ran.returncode == 0 and time.monotonic() < end:
        if is_taken(where):
            return True
        time.sleep(0.05)
    return False
