"""A program of the user's under Python, with the runtime to be turned on inside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from fxls.launching.python_arguments import PythonArguments
from fxls.store import locate

__all__ = ["EPILOG", "SUMMARY", "USAGE", "become", "execute", "locked_out"]

SUMMARY = "run a program, and write the listings of its graphs"
USAGE = "fxls run [OPTION ...] {FILE | -m MODULE | -c CODE | -} [ARGUMENT ...]"
EPILOG = """\
examples:
  fxls run train.py --epochs 3
  fxls run -m package.train --epochs 3
  fxls run -m torch.distributed.run --nproc-per-node 2 train.py
  fxls run --break-on nan,grad-nan train.py
  fxls run --listen 5678 train.py
  fxls run -u -X dev -W error train.py

Options with one dash are Python's. The program runs as it would under Python, and ends as it would. Every graph that it
makes with torch.fx, torch.compile, torch.export or fxls.engine becomes a listing.
"""


def locked_out(letters: Iterable[str] = ()) -> str | None:
    """Why fxls cannot get into a program that Python runs with these flags, and what to
    do; None when it can.
    """
    found = [one for one in letters if one in _LOCKS]
    found += [
        letter
        for letter, name in (
            ("I", "isolated"),
            ("E", "ignore_environment"),
            ("S", "no_site"),
        )
        if getattr(sys.flags, name)
    ]
    if not found:
        return None
    return (
        f"with -{found[0]}, {_LOCKS[found[0]]}\n"
        f"help: Leave -{found[0]} out, or let the program itself call `fxls.install()`, "
        "and start it with Python."
    )


_BY_VARIABLES = "Python heeds no PYTHONPATH, by which fxls gets into the program"
_LOCKS = {
    "I": _BY_VARIABLES,
    "E": _BY_VARIABLES,
    "S": "Python runs no sitecustomize, by which fxls gets into the program",
}


def become(
    python: PythonArguments,
    store: Path | None,
    environment: Mapping[str, str],
    more: Mapping[str, str] | None = None,
    *,
    wrapped: Callable[[Sequence[str]], Sequence[str]] = lambda program: program,
) -> NoReturn:
    """Let this process be ``python flags... program...``, writing listings to `store`.

    With `wrapped` it is what that makes of the program.

    The program sees nothing of it but variables in its environment, `more` among them,
    which the processes that it starts inherit.
    """
    start = Path(python.program[0]) if python.is_file else Path.cwd()
    folder = Path(__file__).parents[1] / "startup"
    paths = [str(folder), *filter(None, [environment.get("PYTHONPATH")])]
    inherited = {
        **environment,
        **(more or {}),
        "FXLS_STORE": os.path.abspath(store or locate(start)),  # noqa: PTH100  # resolve() follows links
        "PYTHONPATH": os.pathsep.join(paths),
    }
    # A file may have the name of an option.
    end = ["--"] if python.is_file and python.program[0].startswith("-") else []
    execute([*python.flags, *wrapped([*end, *python.program])], inherited)


def execute(program: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Let this process be ``python program...``, with the flags that it has itself."""
    flags: list[str] = cast("Any", subprocess)._args_from_interpreter_flags()
    # That keeps the folder's files from being what runs instead of fxls, and is no
    # wish for the program.
    flags = [flag for flag in flags if flag != "-P"]
    command = [sys.executable, *flags, *program]
    if os.name == "nt":  # there, exec ends this process before the program ends
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    os.execve(sys.executable, command, environment)
