"""A program of the user's under Python, with the runtime to be turned on inside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from fxls.store import locate

__all__ = ["EPILOG", "SUMMARY", "USAGE", "become", "execute", "split"]

SUMMARY = "run a program, and write the listings of its graphs"
USAGE = "fxls run [OPTION ...] {FILE | -m MODULE} [ARGUMENT ...]"
EPILOG = """\
examples:
  fxls run train.py --epochs 3
  fxls run -m package.train --epochs 3
  fxls run -m torch.distributed.run --nproc-per-node 2 train.py
  fxls run --break-on nan,grad-nan train.py
  fxls run --listen 5678 train.py

The program runs as it would under Python, and ends as it would. Every graph that it
makes with torch.fx, torch.compile, torch.export or fxls.engine becomes a listing.
"""


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments of fxls, and those that `fxls run` gives to Python as they are."""
    own = list(arguments)
    if own[:1] != ["run"]:
        return own, []
    at = 1
    while at < len(own) and own[at].startswith("-") and own[at] != "-m":
        at += 2 if own[at] in _WITH_VALUE else 1
    return own[:at], own[at:]


_WITH_VALUE = {"--store", "--break-on", "--on-break", "--listen"}


def become(
    program: Sequence[str],
    store: Path | None,
    environment: Mapping[str, str],
    more: Mapping[str, str] | None = None,
    *,
    wrapped: Callable[[Sequence[str]], Sequence[str]] = lambda program: program,
) -> NoReturn:
    """Let this process be ``python program...``, writing listings to `store`.

    With `wrapped` it is what that makes of the program.

    The program sees nothing of it but variables in its environment, `more` among them,
    which the processes that it starts inherit.
    """
    start = Path.cwd() if program[0] == "-m" else Path(program[0])
    folder = Path(__file__).parents[1] / "startup"
    paths = [str(folder), *filter(None, [environment.get("PYTHONPATH")])]
    inherited = {
        **environment,
        **(more or {}),
        "FXLS_STORE": os.path.abspath(store or locate(start)),  # noqa: PTH100  # resolve() follows links
        "PYTHONPATH": os.pathsep.join(paths),
    }
    execute(wrapped(program), inherited)


def execute(program: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Let this process be ``python program...``, with the flags that it has itself."""
    flags: list[str] = cast("Any", subprocess)._args_from_interpreter_flags()
    command = [sys.executable, *flags, *program]
    if os.name == "nt":  # there, exec ends this process before the program ends
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    os.execve(sys.executable, command, environment)
