"""`fxls trace`: the generated code of a model."""

from __future__ import annotations

import argparse
import enum
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    ExitCode,
    add_command,
    add_store,
    completed,
    number_of,
    say,
    sources_here,
    warn,
)

if TYPE_CHECKING:
    from fxls.cli.progress import Progress
    from fxls.cli.report import Sources, TraceResult
    from fxls.entry import Entry
    from fxls.launching.entry_argument import EntryArgument
    from fxls.store import Store
    from fxls.wire import Failed, Traced

__all__ = ["Show", "add", "trace"]

_TRACE_EPILOG = """\
examples:
  fxls trace resnet.py
  fxls trace 'resnet.py:ResNet([2, 2])(torch.randn(1, 3, 64, 64))' --time-limit 120
  fxls trace net.py --python ~/venvs/gpu/bin/python --show path

`torch` can be used in an expression even where the file does not import it. Call the
model with example inputs to see shapes; leave the call out and they stay unknown.
"""


class Show(enum.Enum):
    """How much of a listing is printed."""

    ALL = "all"
    TABLE = "table"
    LISTING = "listing"
    PATH = "path"


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "trace",
        "generate the code of a model and write its listing",
        _TRACE_EPILOG,
    )
    parser.set_defaults(command=trace)
    argument = parser.add_argument(
        "argument",
        metavar="FILE[:EXPRESSION]",
        type=_argument,
        help="a Python file, and the expression that builds the model "
        "(default: the entries of the file)",
    )
    completed(argument, "file")
    add_store(parser)
    python = parser.add_argument(
        "--python",
        metavar="PATH",
        default=sys.executable,
        help="the interpreter that has the packages of the model (default: the one of fxls)",
    )
    completed(python, "file")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=number_of("seconds"),
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
        "-v", "--verbose", action="store_true", help="also print what the worker logs"
    )


def _argument(text: str) -> EntryArgument:
    from fxls.launching.entry_argument import entry_argument

    argument = entry_argument(text)
    if isinstance(argument, str):
        raise argparse.ArgumentTypeError(argument)
    return argument


def trace(options: argparse.Namespace) -> int:
    """`fxls trace`: trace entries one after the other and show each."""
    import asyncio

    from fxls.cli.report import TraceResult, shown
    from fxls.launching.entry_argument import entries_of
    from fxls.store import Store, locate

    argument: EntryArgument = options.argument
    sources = sources_here()
    store = Store(options.store or locate(argument.path), report=warn)
    entries, wrong = entries_of(argument)
    results = [TraceResult(entry=None, failure=failure) for failure in wrong]
    if not options.json:
        for failure in wrong:
            say(shown(failure, None, sources))

    async def trace_all() -> None:
        async for result in _traced(entries, store, options):
            results.append(result)
            if not options.json:
                _show(result, Show(options.show), sources)

    if entries:
        asyncio.run(trace_all())
    if options.json:
        print(json.dumps({"results": [result.as_json() for result in results]}))
    return max(map(_code_of, results), default=ExitCode.OK)


async def _traced(
    entries: Sequence[Entry], store: Store, options: argparse.Namespace
) -> AsyncIterator[TraceResult]:
    from fxls.cli.progress import Progress
    from fxls.host.host import Host
    from fxls.host.settings import WorkerSettings

    progress = Progress(sys.stderr)
    prints = _Prints(progress, verbose=options.verbose)
    host = Host(
        WorkerSettings(python=options.python, jobs=1),
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


def _result(entry: Entry, outcome: Traced | Failed, store: Store) -> TraceResult:
    from fxls.cli.report import TraceResult
    from fxls.listing import Failure, Reason
    from fxls.store import StoreError
    from fxls.wire import Failed

    if isinstance(outcome, Failed):
        return TraceResult(entry, outcome.failure)
    path = Path(outcome.path)
    try:
        listing = store.read(path)
    except StoreError as error:
        message = f"{error.path}: {error.problem}"
        return TraceResult(entry, Failure(Reason.STORE, message, advice=error.advice))
    return TraceResult(entry, outcome.trouble, path, listing, outcome)


def _show(result: TraceResult, show: Show, sources: Sources) -> None:
    from fxls.cli.report import nodes, shown, summary

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
        say(shown(result.failure, result.entry, sources))


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


def _code_of(result: TraceResult) -> ExitCode:
    from fxls.listing import Reason

    if result.failure is not None and result.failure.instead is not None:
        return ExitCode.OK
    match result.failure and result.failure.reason:
        case None:
            return ExitCode.OK
        case Reason.STORE | Reason.WORKER:
            return ExitCode.SYSTEM
        case _:
            return ExitCode.TROUBLE
