"""A program of the user's under Python, with the runtime to be turned on inside it."""

from __future__ import annotations

import os
import sys

from fxls.store_root import is_url, locate

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn

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
    program: Sequence[str],
    environment: Mapping[str, str],
    *,
    flags: Sequence[str] = (),
    store: str | None = None,
    is_quiet: bool = False,
    more: Mapping[str, str] | None = None,
    wrapped: Callable[[Sequence[str]], Sequence[str]] | None = None,
) -> int:
    """Let this process be ``python flags... program...``, writing listings to `store`.

    With `wrapped` it is what that makes of the program. Returns what the process is to
    end with.

    The program finds variables in its environment, `more` among them, which the
    processes that it starts inherit, and perhaps calls of fxls below itself.
    """
    is_file = program[0] not in ("-m", "-c", "-")
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "startup")  # noqa: PTH118, PTH120  # pathlib takes long to import
    paths = [folder, *filter(None, [environment.get("PYTHONPATH")])]
    found = store or _chosen(environment) or locate(program[0] if is_file else ".")
    inherited = {
        **environment,
        **(more or {}),
        "FXLS_STORE": os.path.abspath(found),  # noqa: PTH100  # resolve() follows links
        "PYTHONPATH": os.pathsep.join(paths),
    }
    if not is_quiet and sys.stderr.isatty():
        inherited["FXLS_SUMMARY"] = str(os.getpid())
    if not flags and wrapped is None and (is_file or program[0] == "-m"):
        from fxls.launching.here import run_here  # noqa: PLC0415 - for this alone

        if run_here(program, inherited):
            return 0
    # A file may have the name of an option.
    end = ["--"] if is_file and program[0].startswith("-") else []
    called = [*end, *program]
    return execute([*flags, *(wrapped(called) if wrapped else called)], inherited)


def _chosen(environment: Mapping[str, str]) -> str | None:
    """The folder that FXLS_STORE names, unless it names what is read elsewhere."""
    chosen = environment.get("FXLS_STORE")
    return None if chosen and is_url(chosen) else chosen


def execute(program: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Let this process be ``python program...``, with the flags that it has itself."""
    command = [sys.executable, *_own_flags(), *program]
    if os.name == "nt":  # there, exec ends this process before the program ends
        import subprocess  # noqa: PLC0415 - takes a moment

        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    os.execve(sys.executable, command, environment)


def _own_flags() -> list[str]:
    """The flags that this process was started with."""
    if not sys.orig_argv[1:] or sys.orig_argv[1][:1] != "-" or sys.orig_argv[1] == "-m":
        return []
    import subprocess  # noqa: PLC0415 - takes a moment

    own: Any = subprocess
    flags: list[str] = own._args_from_interpreter_flags()
    # That keeps the folder's files from being what runs instead of fxls, and is no
    # wish for the program.
    return [flag for flag in flags if flag != "-P"]
