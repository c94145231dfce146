"""`fxls check`: whether torch.compile does less for a program than a baseline says."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    chosen_or_located,
    completed,
    failed,
    harmless,
    need_torch,
    say,
    sources_here,
    warn,
)
from fxls.cli.run_argument import add_run, found_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxls.launching.python_arguments import PythonArguments
    from fxls.record.baseline import Baseline, Tally
    from fxls.store.runs import Runs

__all__ = ["add", "check"]

_FILE = "fxls-baseline.json"
_MOST_BYTES = 4 << 20

_EPILOG = """\
examples:
  fxls check --update train.py --epochs 1     write what torch.compile does with it
  fxls check train.py --epochs 1              fail when it does less, and say where
  fxls check -m package.train
  fxls check --entries net.py     the entries of a file, each compiled and called once
  fxls check --run=-1 --name nightly          a run that was recorded before
  fxls check --json train.py | jq '.worse[].what'

It ends with 1 when something became worse, or when the program failed; what became
better is said. docs/check.md says what is compared, and what --json prints.
"""


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands, "check", "compare what torch.compile does with a baseline", _EPILOG
    )
    parser.usage = (
        "fxls check [OPTION ...] {FILE | -m MODULE | --entries FILE | --run RUN}"
        " [ARGUMENT ...]"
    )
    parser.set_defaults(command=check, usage=parser)
    baseline = parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help=f"the baseline (default: {_FILE} beside pyproject.toml or .git)",
    )
    completed(baseline, "file")
    name = parser.add_argument(
        "--name", help="the program in the baseline (default: its command line)"
    )
    completed(name, "word")
    entries = parser.add_argument(
        "--entries",
        metavar="FILE[:EXPRESSION]",
        help="compile and call the entries of a file, or this one, with their inputs",
    )
    completed(entries, "file")
    add_run(parser, "--run", "compare this run, and run nothing")
    add_store(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--update", action="store_true", help="write the baseline, and compare nothing"
    )
    form.add_argument("--json", action="store_true", help="print JSON for programs")


def check(options: argparse.Namespace) -> int:
    """`fxls check`: run a program, or take a run, and compare it, or write it down."""
    from fxls.cli.reports.check_report import check_as_json, check_text
    from fxls.record.baseline import compared
    from fxls.store import StoreError
    from fxls.store_root import locate

    python: PythonArguments = options.python
    problem = _unclear(python, options.run, options.entries)
    if problem is not None:
        options.usage.error(problem)
    path: Path = options.baseline or Path(locate(".")).parent / _FILE
    baseline = _read(path, is_needed=not options.update)
    name = options.name or _name(python.program, path)
    if options.entries is not None:
        name = options.name or _name_of_entries(options.entries, path)
        python = _of_entries(options.entries, python)
    if not options.update and options.run is None:
        _check_named(baseline, name, path)
    try:
        if options.run is None:
            root, runs = _ran(options, python)
        else:
            root = chosen_or_located(options.store)
            runs = (found_run(_runs(root), options.run),)
            name = options.name or _name_of(_runs(root), runs[0], path)
        tally = _tally(root, runs, path)
    except StoreError as error:
        return failed(error)
    if options.update:
        _write(path, baseline, name, tally)
        return ExitCode.OK
    _check_named(baseline, name, path)
    found = compared(baseline.programs[name], tally.program)
    sources = sources_here()
    if options.json:
        print(json.dumps(check_as_json(name, path, runs, tally, found, sources)))
    else:
        print(harmless(check_text(name, tally, found, sources)))
    return ExitCode.TROUBLE if found.worse else ExitCode.OK


def _of_entries(argument: str, python: PythonArguments) -> PythonArguments:
    """The program that compiles and calls entries."""
    from fxls.launching.python_arguments import PythonArguments as Arguments

    program = ("-m", "fxls.launching.compiled_entries", argument)
    return Arguments(python.flags, python.letters, program)


def _name_of_entries(argument: str, path: Path) -> str:
    """How a baseline names the entries of a file, wherever the repository lies."""
    from fxls.launching.entry_argument import entry_argument

    found = entry_argument(argument)
    if isinstance(found, str):
        return f"entries {argument}"
    expression = f":{found.expression}" if found.expression else ""
    return f"entries {_below(str(found.path), path)}{expression}"


def _near(argument: str | None) -> str:
    """The file whose entries are meant; the current folder where none is named."""
    from fxls.launching.entry_argument import entry_argument

    found = "" if argument is None else entry_argument(argument)
    return "." if isinstance(found, str) else str(found.path)


def _unclear(
    python: PythonArguments, run: str | None, entries: str | None
) -> str | None:
    """What is wrong with a command line; None when it says what to check."""
    if entries is not None:
        both = python.program or run is not None
        return "name a program, --entries or --run: one of them" if both else None
    if run is not None:
        return "name a program or --run, and not both" if python.program else None
    if not python.is_whole:
        return "name the file or the module to run, or a run by --run"
    if python.program[0] == "-":
        return "a program from standard input has no name: write it into a file"
    return None


def _read(path: Path, *, is_needed: bool) -> Baseline:
    """The baseline; an empty one where there is none and none is needed."""
    from fxls import regular_file
    from fxls.record.baseline import SCHEMA, Baseline, BaselineError, decode

    try:
        # What is read here is written by --update, which follows no link.
        return decode(regular_file.read_no_link(path, _MOST_BYTES))
    except FileNotFoundError:
        if not is_needed:
            return Baseline(SCHEMA, {})
        say(f"fxls: error: there is no baseline {path}\nhelp: {_HOW}")
    except OSError as error:
        say(f"fxls: error: {path}: {regular_file.why(error)}")
    except BaselineError as error:
        say(
            f"fxls: error: {path} {error}\n"
            "help: Take it from the repository again, or delete it and use --update."
        )
    raise SystemExit(ExitCode.SYSTEM)


def _check_named(baseline: Baseline, name: str, path: Path) -> None:
    if name not in baseline.programs:
        known = ", ".join(map(repr, sorted(baseline.programs)[:8])) or "none"
        say(
            f"fxls: error: the baseline {path} does not have the program {name!r}\n"
            f"note: it has {known}\nhelp: {_HOW}"
        )
        raise SystemExit(ExitCode.SYSTEM)


def _name(program: Sequence[str], path: Path) -> str:
    """A command line as the baseline names it, wherever the repository lies."""
    import shlex

    if not program:
        return ""
    first = program[0]
    if first not in ("-m", "-c"):
        first = _below(os.path.abspath(first), path)  # noqa: PTH100  # resolve() follows links
    return shlex.join([first, *program[1:]])


def _name_of(runs: Runs, run: str, path: Path) -> str:
    """The command line of a run that was recorded."""
    head = runs.read(run).run
    return _name([head.program or "-", *head.arguments], path)


def _below(file: str, path: Path) -> str:
    """A file from the folder of the baseline; its name where it is elsewhere."""
    from fxls.serving.ownership import package_path

    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100  # as above
    installed = package_path(file)
    if installed is not None:
        return installed
    if Path(file).is_relative_to(folder):
        return Path(file).relative_to(folder).as_posix()
    return Path(file).name


def _runs(root: Path) -> Runs:
    from fxls.store.runs import Runs

    return Runs(root, warn)


def _ran(
    options: argparse.Namespace, python: PythonArguments
) -> tuple[Path, tuple[str, ...]]:
    """Run the program; its store, and the runs of all its processes.

    Ends, and says so, where the program fails.
    """
    import secrets
    import subprocess

    from fxls.cli.followed_program import GRAPHS_ANEW
    from fxls.store_root import locate

    need_torch()
    is_file = python.program[0] not in ("-m", "-c")
    near = python.program[0] if is_file else _near(options.entries)
    root = options.store or Path(locate(near))
    started = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    launch = f"{started}-check-{os.getpid()}-{secrets.token_hex(4)}"
    environment = {**os.environ, "FXLS_LAUNCH": launch}
    environment.pop("FXLS_RUN", None)
    if options.update:
        # What a cache has tries no pattern, and the baseline would be without it.
        environment = {**GRAPHS_ANEW, **environment}
    command = [sys.executable, "-P", "-m", "fxls", "run", "--record", "--quiet"]
    command += ["--store", str(root), *python.flags, *["--"] * is_file]
    command += python.program
    # What the program prints is not what this command says.
    ended = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
    if ended.returncode:
        say(
            f"fxls: error: the program ended with {ended.returncode}, and is not compared"
        )
        raise SystemExit(ExitCode.TROUBLE)
    found = [one.run.id for one in _runs(root).newest() if one.run.launch == launch]
    return root, tuple(reversed(found))


def _tally(root: Path, names: Sequence[str], path: Path) -> Tally:
    """What is counted of all processes of a program.

    Ends, and says so, where a record lacks something. Raises `StoreError`.
    """
    from fxls.cli.reports.pass_report import reading
    from fxls.ide.syntax.function_names import FunctionNames
    from fxls.listing import KERNELS
    from fxls.record import QuotedPlace, RevisionName
    from fxls.record.baseline import Tally, tally_of
    from fxls.record.kernel_times import CALL
    from fxls.serving.ownership import is_own
    from fxls.store import Store

    runs = _runs(root)
    read = reading(Store(root))
    sources = sources_here()
    known: dict[str, FunctionNames] = {}

    def function_at(quoted: QuotedPlace) -> str:
        place = quoted.place
        if place.path not in known:
            known[place.path] = FunctionNames(sources.lines(place.path).text)
        name = known[place.path].at(place.span.start.line) or place.function
        return f"{_below(place.path, path)}: {name}"

    def kernels_of(revision: RevisionName) -> int:
        is_code = revision.identity.stage.rpartition(", ")[2] == KERNELS
        listing = read(revision) if is_code else None
        nodes = () if listing is None else listing.nodes
        return sum(facts.opcode == CALL for facts in nodes)

    whole = Tally()
    for name in names:
        part = runs.read(name)
        one = tally_of(part.entries, is_own, function_at, kernels_of)
        if part.left_out or not one.is_whole:
            say(
                f"fxls: error: the record of {name} is not whole, and is not compared\n"
                "help: Check a shorter run of the program."
            )
            raise SystemExit(ExitCode.SYSTEM)
        whole.join(one)
    return whole


def _write(path: Path, baseline: Baseline, name: str, tally: Tally) -> None:
    from fxls import regular_file
    from fxls.record.baseline import SCHEMA, Baseline, encode

    programs = {**baseline.programs, name: tally.program}
    try:
        path.write_bytes(encode(Baseline(SCHEMA, programs)))
    except OSError as error:
        say(f"fxls: error: {path}: {regular_file.why(error)}")
        raise SystemExit(ExitCode.SYSTEM) from None
    count = len(tally.functions)
    say(f"fxls: {path} has {name!r}: {count} function{'s' * (count != 1)}")
    if tally.matches is None:
        say(f"note: {CACHED}")


CACHED = (
    "a cache had what was compiled, so matches and kernels are left out; "
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 turns the caches off"
)
"""Why matches and kernels are not compared."""

_HOW = "The same command with --update writes it; commit the file."
