"""`fxls compare`: where the numbers of a compiled program go wrong."""

from __future__ import annotations

import argparse
import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    harmless,
    need_torch,
    number_of,
    say,
    sources_here,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fxls.cli.reproducing import Reproduced
    from fxls.launching.entry_argument import EntryArgument
    from fxls.launching.python_arguments import PythonArguments
    from fxls.verdicts.comparison import Comparison

__all__ = ["add", "compare"]

_EPILOG = """\
examples:
  fxls compare train.py --epochs 1          who makes torch.compile's numbers wrong
  fxls compare -m package.train
  fxls compare net.py:Net                   the entry of a class, a step of training
  fxls compare 'net.py:Net(3)(torch.randn(1, 3))'
  fxls compare net.Net@1 net.Net@-1         two revisions, as `fxls diff` names them
  fxls compare rank:0 rank:1                the graphs of two ranks, or of two runs
  fxls compare --break-on nan train.py      who makes NaN: the model, or its compiler
  fxls compare --memory 2000 train.py       with at most 2000 MB for copies and values
  fxls compare --reproduce wrong.py train.py     and write a script that shows it
  fxls compare --json train.py | jq '.faults[0]'
  fxls compare --keep there.pt train.py     keep the values of its graphs in there.pt
  fxls compare --with there.pt train.py     and compare: of another torch or device
  torchrun --nproc-per-node 2 --no-python fxls compare --keep values.pt train.py
  fxls compare values.rank0.pt values.rank1.pt   where two ranks differ first

The program runs once, compiled, and ends. Then each step of the compiler is run again on
the inputs of the first call of each graph, and is judged by the step before it.

A and B are words of `fxls diff`: a file of a listing, words of `fxls list`, pass:NAME,
run:RUN or rank:N. Their code runs here, on the same inputs, which a seed gives.

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
    parser.usage = (
        "fxls compare [OPTION ...] {FILE | -m MODULE} [ARGUMENT ...]\n"
        "       fxls compare [OPTION ...] FILE:{EXPRESSION | CLASS}\n"
        "       fxls compare [OPTION ...] A [B]"
    )
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
    parser.add_argument(
        "--break-on",
        type=_rules,
        default="",
        metavar="RULE",
        help="look at the first call of each graph that returns, or whose gradients are,"
        " nan, inf, or grad-nan (several with commas), instead of at its first call",
    )
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


def _rules(text: str) -> str:
    """Names of rules that a call can break without being watched."""
    from fxls.rules import Rule, rules_of

    try:
        found = rules_of([text])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    known = (Rule.NAN, Rule.INF, Rule.GRAD_NAN)
    if other := [one.value for one in found if one not in known]:
        raise argparse.ArgumentTypeError(
            f"{other[0]} is a rule of `fxls run`: here are nan, inf and grad-nan"
        )
    return ",".join(one.value for one in found)


def compare(options: argparse.Namespace) -> int:
    """`fxls compare`: run a program in a process of its own, and say what was found."""
    from fxls.cli.comparisons.elsewhere import compare_elsewhere
    from fxls.cli.comparisons.entry import entry_of, to_compare
    from fxls.cli.followed_program import follow, followed, unclear
    from fxls.cli.reports.compare_report import compare_as_json
    from fxls.store import locate
    from fxls.verdicts.comparison import decode

    python: PythonArguments = options.python
    problem = unclear(python) or _taken(options.reproduce or options.keep)
    without_program = None if problem else _without_program(python.program)
    if without_program is not None:
        refused = _not_of_listings(options, python)
        if refused is None:
            need_torch()
            return without_program(options, python.program)
        options.usage.error(refused)
    entry = None if problem else entry_of(python.program)
    if entry is not None:
        problem = _unclear_entry(python, entry)
        python = to_compare(python, entry)
        if options.store is None and "FXLS_STORE" not in os.environ:
            options.store = locate(entry.path)
    if options.other is not None and not options.other.is_file():
        problem = f"there is no file {options.other}: --keep writes one"
    if problem is not None:
        options.usage.error(problem)
    need_torch()
    if options.keep is not None or options.other is not None:
        return compare_elsewhere(options, python, os.environ)
    if options.into is not None:
        judge = functools.partial(_judged, is_reproducing=options.scripts)
        is_asking = not options.break_on
        return follow(options, python, judge, is_asking_python=is_asking)
    more = ["--scripts"] * (options.reproduce is not None)
    more += ["--break-on", options.break_on] * bool(options.break_on)
    found = followed("compare", more, options, python, decode)
    reproduced = _reproduced(options.reproduce, found, python)
    if options.json:
        print(json.dumps(compare_as_json(found, reproduced)))
    else:
        _print(found, reproduced, python, is_entry=entry is not None)
    if found.is_found:
        return ExitCode.TROUBLE
    return ExitCode.OK if found.is_clear else ExitCode.USAGE


def _without_program(
    words: Sequence[str],
) -> Callable[[argparse.Namespace, Sequence[str]], int] | None:
    """What compares what these words name, if that is no program."""
    from fxls.cli.comparisons.elsewhere import compare_ranks, names_kept
    from fxls.cli.comparisons.listings import compare_listings, names_listings

    if names_kept(words):
        return compare_ranks
    return compare_listings if names_listings(words) else None


def _print(
    found: Comparison,
    reproduced: Reproduced | None,
    python: PythonArguments,
    *,
    is_entry: bool,
) -> None:
    """Say what was found; an entry that could not be made has said why itself."""
    from fxls.cli.reports.compare_report import compare_text

    if is_entry and not found.graphs and found.raised == _REFUSED:
        return
    print(harmless(compare_text(found, sources_here(), reproduced)))
    if not found.graphs and not is_entry and (named := _first_entry(python)):
        say(f"help: To compare the entry of the file, say `{named}`.")


_REFUSED = "SystemExit: 2"
"""What the program of an entry ends with that is not there, or cannot be called."""


def _not_of_listings(
    options: argparse.Namespace, python: PythonArguments
) -> str | None:
    """What stands on a command line beside listings, and is of programs."""
    for name in ("reproduce", "keep", "other", "break_on"):
        if getattr(options, name):
            option = "with" if name == "other" else name.replace("_", "-")
            return f"--{option} needs a program, and {python.program[0]} is none"
    return "a listing takes no options of Python's" if python.flags else None


def _unclear_entry(python: PythonArguments, entry: EntryArgument) -> str | None:
    """What is wrong with a command line that names an entry."""
    if len(python.program) > 1:
        return f"an entry takes no arguments, as {python.program[1]!r} is one"
    return None if entry.path.is_file() else f"there is no file {entry.path.name}"


def _first_entry(python: PythonArguments) -> str | None:
    """How to ask for the first entry of a file that is no program, if it has one."""
    import shlex

    from fxls.launching.entry_argument import EntryArgument, entries_of

    path = Path(python.program[0])
    if python.program[0] == "-m" or not path.is_file():
        return None
    entries, _ = entries_of(EntryArgument(path.absolute(), None))
    called = [one for one in entries if one.expression.endswith(")")]
    if not called:
        return None
    return shlex.join(["fxls", "compare", f"{path}:{called[0].name}"])


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
    from fxls.cli.followed_program import watched
    from fxls.verdicts.comparison import SCHEMA, Comparison, encode

    found = Comparison(SCHEMA, (), (), 0, 0, 0, 0, 0, 0, 0.0, raised)
    installation = watched()
    if installation is not None and installation.numbers is not None:
        from fxls.runtime.numbers.comparing import compared
        from fxls.runtime.numbers.judgements import (
            Judgements,
            remark_of,
            remark_of_finding,
        )

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
        remarks = [
            *map(remark_of, found.faults),
            *map(remark_of_finding, found.findings),
        ]
        for event in (*judgements.events, *remarks):
            installation.recorder.note(event)
    return encode(found)
