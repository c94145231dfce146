"""`fxls compare`: where the numbers of a compiled program go wrong."""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    harmless,
    number_of,
    say,
    sources_here,
)

if TYPE_CHECKING:
    from fxls.cli.reproducing import Reproduced
    from fxls.launching.python_arguments import PythonArguments
    from fxls.verdicts.comparison import Comparison

__all__ = ["add", "compare"]

_EPILOG = """\
examples:
  fxls compare train.py --epochs 1          who makes torch.compile's numbers wrong
  fxls compare -m package.train
  fxls compare --memory 2000 train.py       with at most 2000 MB for copies and values
  fxls compare --reproduce wrong.py train.py     and write a script that shows it
  fxls compare --json train.py | jq '.faults[0]'
  fxls compare --keep there.pt train.py     keep the values of its graphs in there.pt
  fxls compare --with there.pt train.py     and compare: of another torch or device

The program runs once, compiled, and ends. Then each step of the compiler is run again on
the inputs of the first call of each graph, and is judged by the step before it.

With --keep and --with nothing of the compiler is judged: each node of the captured graphs
is run here on the values that it was given there.

It ends with 0 when nobody is at fault, with 1 when somebody is, and with 2 when nobody
can say. docs/numbers.md says how it is judged, and what is not looked at.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "compare", "say where a compiled program's numbers go wrong", _EPILOG
    )
    parser.usage = "fxls compare [OPTION ...] {FILE | -m MODULE} [ARGUMENT ...]"
    parser.set_defaults(command=compare, usage=parser)
    parser.add_argument(
        "--memory",
        type=number_of("MB"),
        default=4000.0,
        metavar="MB",
        help="the most that copies of inputs, and values of one graph, may take"
        " (default: 4000)",
    )
    add_store(parser)
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "--reproduce",
        type=Path,
        metavar="FILE",
        help="write a script that needs torch alone and shows the first fault",
    )
    asked.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="keep the values of each captured graph in a new file, and judge nothing",
    )
    asked.add_argument(
        "--with",
        dest="other",
        type=Path,
        metavar="FILE",
        help="compare each captured graph with the values that --keep wrote elsewhere:"
        " of another torch, Python, device or machine",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--scripts", action="store_true", help=argparse.SUPPRESS)


def compare(options: argparse.Namespace) -> int:
    """`fxls compare`: run a program in a process of its own, and say what was found."""
    from fxls.cli.compare_elsewhere import compare_elsewhere
    from fxls.cli.followed_program import follow, followed, unclear
    from fxls.cli.reports.compare_report import compare_as_json, compare_text
    from fxls.verdicts.comparison import decode

    python: PythonArguments = options.python
    problem = unclear(python) or _taken(options.reproduce or options.keep)
    if options.other is not None and not options.other.is_file():
        problem = f"there is no file {options.other}: --keep writes one"
    if problem is not None:
        options.usage.error(problem)
    if options.keep is not None or options.other is not None:
        return compare_elsewhere(options, python)
    if options.into is not None:
        judge = functools.partial(_judged, is_reproducing=options.scripts)
        return follow(options, python, judge)
    more = ["--scripts"] * (options.reproduce is not None)
    found = followed("compare", more, options, python, decode)
    reproduced = _reproduced(options.reproduce, found, python)
    sources = sources_here()
    if options.json:
        print(json.dumps(compare_as_json(found, reproduced)))
    else:
        print(harmless(compare_text(found, sources, reproduced)))
    if found.is_found:
        return ExitCode.TROUBLE
    return ExitCode.OK if found.is_clear else ExitCode.USAGE


def _taken(path: Path | None) -> str | None:
    """What is wrong with a file that is to be written."""
    if path is None:
        return None
    if path.exists() or path.is_symlink():
        return f"{path} is there already: name a new file"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent} to write {path.name} to"
    return None


def _reproduced(
    path: Path | None, found: Comparison, python: PythonArguments
) -> Reproduced | None:
    """What came of the scripts for the first fault, if they are asked for."""
    from fxls.cli.reproducing import reproduce

    if path is None or not found.reproducers:
        return None
    try:
        return reproduce(found.reproducers, path, python.flags, os.environ)
    except OSError as error:
        say(f"fxls: error: the reproducer is not written: {error}")
        return None


def _judged(raised: str | None, *, is_reproducing: bool) -> bytes:
    """Compare what was kept, if the program made any graph."""
    from fxls.verdicts.comparison import SCHEMA, Comparison, encode

    found = Comparison(SCHEMA, (), (), 0, 0, 0, 0, 0, 0, 0.0, raised)
    if "torch" in sys.modules:
        from fxls.runtime import installing

        installation = installing.current()
        if installation is not None and installation.numbers is not None:
            from fxls.runtime.numbers.comparing import compared
            from fxls.runtime.numbers.judgements import Judgements, remark_of

            kept = installation.numbers
            installation.later.finish()
            judgements = Judgements(kept.listings_of)
            found = compared(
                kept.compilations,
                kept.copies,
                raised,
                is_reproducing=is_reproducing,
                judgements=judgements,
            )
            for event in (*judgements.events, *map(remark_of, found.faults)):
                installation.recorder.note(event)
    return encode(found)
