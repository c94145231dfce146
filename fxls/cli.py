"""The command line: `fxls trace`, `fxls run`, `fxls serve`, `fxls list`.

One function for each subcommand; each loads only what it needs.
"""

from __future__ import annotations

import argparse
import enum
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxls import __version__

if TYPE_CHECKING:
    from fxls.entry import Entry
    from fxls.progress import Progress
    from fxls.report import Shown, Sources
    from fxls.store import Revision, Store, StoreError
    from fxls.targets import Target
    from fxls.wire import Failed, Traced

__all__ = ["main"]


class Code(enum.IntEnum):
    """What the process ends with."""

    OK = 0
    TROUBLE = 1
    USAGE = 2
    SYSTEM = 3
    INTERRUPTED = 130


_DESCRIPTION = "PyTorch's generated code as source: see it, hover it, break in it."

_EPILOG = """\
examples:
  fxls trace net.py                                   every entry of the file
  fxls trace 'net.py:Net(3)(torch.randn(1, 3))'       this model, with these inputs
  fxls trace net.py --json | jq '.results[].listing'  for programs
  fxls run train.py --epochs 3                        your program, and its graphs
  fxls list                                           what the store holds
  fxls serve                                          the server that editors start

An entry builds a model and calls it with example inputs. Write it into the file as a
comment and the file needs no expression on the command line:

  # fxls: Net(hidden=64)(torch.randn(1, 3))

exit codes:
  0  all is well
  1  the code could not be imported, traced or run: the message says where
  2  the command line is wrong
  3  the store cannot be read or written, or the worker cannot be started

environment:
  FXLS_STORE  the folder of listings; else .fxls beside pyproject.toml or .git
"""

_TRACE_EPILOG = """\
examples:
  fxls trace resnet.py
  fxls trace 'resnet.py:ResNet([2, 2])(torch.randn(1, 3, 64, 64))' --time-limit 120
  fxls trace net.py --python ~/venvs/gpu/bin/python --show path

`torch` can be used in an expression even where the file does not import it. Call the
model with example inputs to see shapes; leave the call out and they stay unknown.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns what the process should end with."""
    parser = _parser()
    from fxls.launch import split

    own, program = split(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(own, argparse.Namespace(program=program))
    try:
        code = options.command(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Code.INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has enough; Python would complain at its own exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Code.OK
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fxls",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fxls {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_trace(commands)
    _add_run(commands)
    _add_list(commands)
    _add_prune(commands)
    _add_serve(commands)
    return parser


_Commands = Any
"""What `add_subparsers` returns, which argparse keeps private."""


def _add_command(
    commands: _Commands, name: str, summary: str, epilog: str = ""
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        default=os.environ.get("FXLS_STORE") or None,
        help="the folder of listings (default: FXLS_STORE, or .fxls in the project)",
    )


# fxls run


def _add_run(commands: _Commands) -> None:
    from fxls.launch import EPILOG, SUMMARY, USAGE

    parser = _add_command(commands, "run", SUMMARY, EPILOG)
    parser.usage = USAGE
    parser.set_defaults(command=run, usage=parser)
    _add_store(parser)


def run(options: argparse.Namespace) -> int:
    """`fxls run`: become the program, with the runtime to be turned on in it."""
    from fxls.launch import become

    program: list[str] = options.program
    if not program or program == ["-m"]:
        options.usage.error("say which file or module to run")
    become(program, options.store, os.environ)


# fxls trace


class Show(enum.Enum):
    """How much of a listing is printed."""

    ALL = "all"
    TABLE = "table"
    LISTING = "listing"
    PATH = "path"


def _add_trace(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "trace",
        "generate the code of a model and write its listing",
        _TRACE_EPILOG,
    )
    parser.set_defaults(command=trace)
    parser.add_argument(
        "target",
        metavar="FILE[:EXPRESSION]",
        type=_target,
        help="a Python file, and the expression that builds the model "
        "(default: the entries of the file)",
    )
    _add_store(parser)
    parser.add_argument(
        "--python",
        metavar="PATH",
        default=sys.executable,
        help="the interpreter that has the model's packages (default: fxls's own)",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_seconds,
        default=60.0,
        help="how long importing and tracing one entry may take (default: 60)",
    )
    parser.add_argument(
        "--show",
        choices=[show.value for show in Show],
        default=Show.ALL.value,
        help="what is printed of each listing (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print what the worker logs, too"
    )


def _target(text: str) -> Target:
    from fxls.targets import target_of

    target = target_of(text)
    if isinstance(target, str):
        raise argparse.ArgumentTypeError(target)
    return target


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def trace(options: argparse.Namespace) -> int:
    """`fxls trace`: trace entries one after the other and show each."""
    import asyncio

    from fxls.report import Shown, shown
    from fxls.store import Store, locate
    from fxls.targets import entries_of

    target: Target = options.target
    sources = _sources()
    store = Store(options.store or locate(target.path), report=_warn)
    entries, wrong = entries_of(target)
    results = [Shown(entry=None, failure=failure) for failure in wrong]
    if not options.json:
        for failure in wrong:
            _say(shown(failure, None, sources))

    async def trace_all() -> None:
        async for result in _traced(entries, store, options):
            results.append(result)
            if not options.json:
                _show(result, Show(options.show), sources)

    if entries:
        asyncio.run(trace_all())
    if options.json:
        print(json.dumps({"results": [result.as_json() for result in results]}))
    return max(map(_code_of, results), default=Code.OK)


async def _traced(
    entries: Sequence[Entry], store: Store, options: argparse.Namespace
) -> AsyncIterator[Shown]:
    from fxls.host import Host, Settings
    from fxls.progress import Progress

    progress = Progress(sys.stderr)
    prints = _Prints(progress, verbose=options.verbose)
    host = Host(
        Settings(python=options.python, jobs=1),
        on_printed=prints.add,
        on_status=lambda status: progress.change(status.message),
    )
    try:
        for entry in entries:
            with progress.waiting(f"tracing {entry.expression}"):
                outcome = await host.trace(
                    entry, store=str(store.root), time_limit=options.time_limit
                )
            prints.end()
            yield _result(entry, outcome, store)
    finally:
        await host.close()


def _result(entry: Entry, outcome: Traced | Failed, store: Store) -> Shown:
    from fxls.listing import Failure, Reason
    from fxls.report import Shown
    from fxls.store import StoreError
    from fxls.wire import Failed

    if isinstance(outcome, Failed):
        return Shown(entry, outcome.failure)
    path = Path(outcome.path)
    try:
        listing = store.read(path)
    except StoreError as error:
        message = f"{error.path}: {error.problem}"
        return Shown(entry, Failure(Reason.STORE, message, advice=error.advice))
    return Shown(entry, outcome.trouble, path, listing, outcome)


def _show(result: Shown, show: Show, sources: Sources) -> None:
    from fxls.report import nodes, shown, summary

    if result.listing is not None:
        parts = [str(result.path)]
        if show is not Show.PATH:
            parts.append(summary(result.listing))
        if show in (Show.ALL, Show.LISTING):
            parts.append("\n" + result.listing.text.strip("\n"))
        if show in (Show.ALL, Show.TABLE):
            parts.append("\n" + nodes(result.listing, sources) + "\n")
        print("\n".join(parts), flush=True)
    if result.failure is not None:
        _say(shown(result.failure, result.entry, sources))


class _Prints:
    """What the user's code prints, line by line, under the name of its file."""

    def __init__(self, progress: Progress, *, verbose: bool) -> None:
        self._progress = progress
        self._verbose = verbose
        self._rest: dict[str, str] = {}

    def add(self, entry: Entry | None, text: str) -> None:
        if entry is None and not self._verbose:
            return
        name = "worker" if entry is None else Path(entry.path).name
        *lines, rest = (self._rest.get(name, "") + text).split("\n")
        self._rest[name] = rest
        self._write(name, lines)

    def end(self) -> None:
        """Write the last lines, which have no end."""
        for name, rest in self._rest.items():
            self._write(name, [rest] if rest else [])
        self._rest.clear()

    def _write(self, name: str, lines: Sequence[str]) -> None:
        self._progress.write("".join(f"{name} | {line}\n" for line in lines))


def _code_of(result: Shown) -> Code:
    from fxls.listing import Reason

    match result.failure and result.failure.reason:
        case None:
            return Code.OK
        case Reason.STORE | Reason.WORKER:
            return Code.SYSTEM
        case _:
            return Code.TROUBLE


# fxls list


def _add_list(commands: _Commands) -> None:
    parser = _add_command(
        commands, "list", "say what the store holds: the newest listing of each model"
    )
    parser.set_defaults(command=list_)
    _add_store(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def list_(options: argparse.Namespace) -> int:
    """`fxls list`: the identities of a store, each with its newest revision."""
    from fxls.report import identities, revision_as_json
    from fxls.store import Store, StoreError, locate

    code = Code.OK

    def complain(error: StoreError) -> None:
        nonlocal code
        code = Code.SYSTEM
        _warn(error)

    store = Store(options.store or locate(Path.cwd()), report=complain)
    if store.root.exists() and not store.root.is_dir():
        _say(f"fxls: error: {store.root} is not a folder\nhelp: Move the file away.")
        return Code.SYSTEM
    table: list[tuple[Revision, int | None]] = []
    for identity in store.identities():
        revision = store.newest(identity)
        if revision is None:
            continue
        try:
            count = len(store.read_revision(revision).nodes)
        except StoreError as error:
            complain(error)
            count = None
        table.append((revision, count))
    if options.json:
        listings = [revision_as_json(revision, count) for revision, count in table]
        print(json.dumps({"store": str(store.root), "listings": listings}))
    elif table:
        print(identities(table, _sources(), time.time()))
    elif code is Code.OK:
        _say(
            f"fxls: no listings in {store.root}\n"
            "help: `fxls trace FILE` makes one; --store or FXLS_STORE names another "
            "folder."
        )
    return code


# fxls serve


def _add_prune(commands: _Commands) -> None:
    parser = _add_command(commands, "prune", "delete listings that nobody wants")
    parser.set_defaults(command=prune)
    _add_store(parser)
    for bound, default, what in (("days", 30, "age"), ("megabytes", 256, "size")):
        text = f"the {what} up to which they stay (default: {default})"
        parser.add_argument(f"--{bound}", type=_seconds, default=default, help=text)


def prune(options: argparse.Namespace) -> int:
    """`fxls prune`: delete listings by age, and by size; those of today stay."""
    from fxls import store

    root = options.store or store.locate(Path.cwd())
    try:
        pruned = store.prune(root, days=options.days, megabytes=options.megabytes)
    except store.StoreError as error:
        _say(f"fxls: error: {error}")
        return Code.SYSTEM
    print(f"{pruned} in {root}")
    return Code.OK


def _add_serve(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "serve",
        "run the language server; editors start it so",
        "It speaks LSP on standard input and output unless --tcp says otherwise.",
    )
    parser.set_defaults(command=serve)
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--stdio", action="store_true", help="standard input and output (the default)"
    )
    way.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="wait for a client there"
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def serve(options: argparse.Namespace) -> int:
    """`fxls serve`: the language server."""
    from fxls.lsp.start import quick_imports

    with quick_imports():
        from fxls.server import serve_stdio, serve_tcp
    store = os.environ.get("FXLS_STORE") or None
    if options.tcp is None:
        serve_stdio(store=store)
        return Code.OK
    try:
        serve_tcp(*options.tcp, store=store)
    except OSError as error:
        host, port = options.tcp
        # What asyncio makes of `strerror` says the address once more.
        problem = os.strerror(error.errno) if error.errno else str(error)
        _say(f"fxls: error: cannot listen on {host}:{port}: {problem}")
        return Code.SYSTEM
    return Code.OK


# What is said


def _sources() -> Sources:
    from fxls.report import Sources

    return Sources(Path.cwd())


def _warn(error: StoreError) -> None:
    _say(f"fxls: warning: {error.path}: {error.problem}\nhelp: {error.advice}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
