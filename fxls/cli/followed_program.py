"""Runs a program in a process of its own, which keeps its graphs until it has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fxls import regular_file
from fxls.cli.command import ExitCode, say
from fxls.launching.launch import become

if TYPE_CHECKING:
    import argparse

    from fxls.launching.python_arguments import PythonArguments
    from fxls.runtime.installation import Installation

__all__ = ["GRAPHS_ANEW", "START", "follow", "followed", "unclear", "watched"]

_Found = TypeVar("_Found")

_MOST_BYTES = 64 << 20
"""So much is read of what the process of the program found."""

GRAPHS_ANEW = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "0",
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO": "0",
}
"""What lets torch compile each graph: what a cache has, nobody compiles.

The machine code of a kernel is taken from its own cache, by its source. With all caches
off, torch compiles in an empty folder each time, and leaves it: it asks the compiler six
times what the processor can do, and compiles each kernel.
"""

START = "import sys; del sys.path[0]; from fxls.cli import main; sys.exit(main())"
"""Starts fxls without what lies in the current folder, and with Python's own flags."""


def unclear(python: PythonArguments) -> str | None:
    """What is wrong with a command line; None when it names a program."""
    if not python.is_whole:
        return "name the file or the module to run"
    if python.program[0] in ("-", "-c"):
        return "write the program into a file: fault and fix have a line there"
    if "i" in python.letters or "x" in python.letters:
        return "leave out -i and -x: the program has to end in its own process"
    return None


def followed(
    subcommand: str,
    more: Sequence[str],
    options: argparse.Namespace,
    python: PythonArguments,
    decode: Callable[[bytes], _Found],
) -> _Found:
    """Run the program; ends, and says so, where nothing is known of it."""
    environment = {**GRAPHS_ANEW, **os.environ}
    with tempfile.TemporaryDirectory(prefix=f"fxls-{subcommand}-") as folder:
        into = Path(folder) / "found"
        command = [sys.executable, *python.flags, "-c", START, subcommand]
        command += ["--into", str(into), "--memory", str(options.memory)]
        command += more
        if options.store is not None:
            command += ["--store", str(options.store)]
        is_file = python.program[0] != "-m"
        command += [*["--"] * is_file, *python.program]
        # What the program prints is not what this command says.
        ended = subprocess.run(
            command, env=environment, stdout=sys.stderr, check=False
        ).returncode
        try:
            return decode(regular_file.read_no_link(into, _MOST_BYTES))
        except (OSError, ValueError):
            say(
                f"fxls: error: the program ended with {ended}, and nothing is known of it"
                "\nhelp: See that it runs with Python; `fxls doctor` says what is off."
            )
            raise SystemExit(ExitCode.USAGE) from None


def watched() -> Installation | None:
    """What watched the program; None where it made no graph, or nothing could watch it."""
    installing = sys.modules.get("fxls.runtime.installing")
    return None if installing is None else installing.current()


def follow(
    options: argparse.Namespace,
    python: PythonArguments,
    judge: Callable[[str | None], bytes],
    *,
    is_asking_python: bool = False,
) -> int:
    """Be the program, and write what was found when it ends.

    What is to be judged is kept in the runtime; `judge` gets what the program ended with.
    Python may be asked what it does in place of each graph.
    """
    rules = getattr(options, "break_on", "")  # which `fxls bisect` has not
    more = {
        "FXLS_RECORD": "1",
        "FXLS_COMPARE": ":".join(
            (
                *(str(os.getpid()), str(int(options.memory) << 20), rules),
                "python" if is_asking_python else "",
            )
        ),
    }
    # Torch warns of what was done above, and the program did not do it.
    warnings.filterwarnings("ignore", "dynamo_pgo force disabled")
    raised: str | None = None
    if settings := os.environ.get("FXLS_SETTINGS"):
        from fxls.runtime.inductor.other_settings import put_in_force

        # Before each compilation this is done again, as the program may change them.
        put_in_force(json.loads(settings))
    try:
        return become(
            python.program,
            os.environ,
            store=options.store and str(options.store),
            is_quiet=True,
            more=more,
        )
    except SystemExit as end:
        if end.code:
            raised = f"SystemExit: {end.code}"
        raise
    except BaseException as error:
        raised = type(error).__name__
        raise
    finally:
        options.into.write_bytes(judge(raised))
