"""The program that an editor debugs: an entry is traced and called, and stops there.

``python -m fxls.debug_entry FILE:EXPRESSION`` calls the generated code from the line on
which the entry stands, so that stack and stepping are those of a program of the user's.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

import torch

from fxls import regular_file
from fxls.attempt import Raised, attempt
from fxls.entry import ORDER, Entry, Producer
from fxls.launching.entry_argument import entries_of, entry_argument
from fxls.listing import Facts, Failure, Reason
from fxls.pdb import Pdb
from fxls.runtime import install
from fxls.runtime.debugging.pydevd import Breakpoint, connected
from fxls.runtime.producers.by_request import compiled, exported_to_run
from fxls.runtime.producers.capture import in_place_of
from fxls.store import Store, StoreError, locate
from fxls.worker.catching import UserRaised, caught
from fxls.worker.evaluate import Inputs, Model, Refused, evaluate
from fxls.worker.failures import failure_of
from fxls.worker.load import home_of, load
from fxls.worker.places import Territory
from fxls.worker.produce import able, ignore_compilers, silence
from fxls.worker.refusals import in_a_line
from fxls.worker.traced import Tracing, traced

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Trace an entry and call it; returns what the process should end with."""
    options = _parser().parse_args(arguments)
    entry = _entry(options.argument)
    if isinstance(entry, str):
        return _refuse(entry)
    path = Path(entry.path)
    store = options.store or locate(path)
    ignore_compilers()
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # torch's gap
    try:
        root = install(store)
        data = regular_file.read(path, regular_file.SOURCE_BYTES)
        text = data.decode("utf-8", errors="replace")
        module = load(home_of(path), locate(path).parent)
        model = evaluate(entry, module, text)
    except Refused as refused:
        return _refuse(_said(refused.failure))
    except (OSError, StoreError) as error:
        return _refuse(str(error))
    if model.inputs is None:
        return _refuse(
            f"`{entry.expression}` has no example inputs, so there is nothing to run\n"
            "help: Call the model in the entry: `Net()(torch.randn(1, 3))`."
        )
    generated = _generated(entry, module, model, model.inputs, Store(root))
    if isinstance(generated, Failure):
        return _refuse(_said(generated))
    path, function = generated
    place = _place(path, Store(root), options.node)
    if isinstance(place, str):
        return _refuse(place)
    call = _call(entry, module, function, model.inputs)
    if options.pdb:
        return _in_pdb(place, call)
    if options.stop or options.node is not None:
        _stop_at(place)
    call()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fxls.debug_entry",
        description="Traces an entry and calls the generated code, for a debugger.",
        allow_abbrev=False,
    )
    parser.add_argument("argument", metavar="FILE:EXPRESSION")
    parser.add_argument(
        "--store", metavar="FOLDER", help="the folder of listings (default: .fxls)"
    )
    parser.add_argument("--stop", action="store_true", help="stop on the first node")
    parser.add_argument("--node", metavar="NAME", help="stop on this node")
    parser.add_argument(
        "--pdb", action="store_true", help="stop in pdb, never in another debugger"
    )
    return parser


def _entry(text: str) -> Entry | str:
    """The entry that is meant, where it stands in its file; or what is wrong."""
    argument = entry_argument(text)
    if isinstance(argument, str):
        return argument
    entries, failures = entries_of(type(argument)(argument.path, None))
    if argument.expression is None:
        return entries[0] if entries else _said(failures[0])
    for entry in entries:
        if argument.expression in (entry.name, entry.expression):
            return entry
    (entry,) = entries_of(argument)[0]
    return entry


def _generated(
    entry: Entry, module: ModuleType, model: Model, inputs: Inputs, store: Store
) -> _Generated | Failure:
    """The file of the generated code, and what runs it when called with the inputs.

    The first producer that can makes it, and the code says in whose place, as that of
    the worker does: it is the same file.
    """
    refused: tuple[Producer, BaseException] | None = None
    tracing: Tracing | None = None
    for producer in able(entry, model, ORDER):
        if producer is Producer.ENGINE:
            found = caught(lambda: traced(model))
            if isinstance(found, Tracing):
                if found.unbound is None or entry.producer is not None:
                    return _traced(found)
                tracing, found = found, UserRaised(found.unbound.error)
        else:
            instead = partial(_instead, refused, entry, module)
            with contextlib.nullcontext() if refused is None else silence():
                step = partial(_produced, producer, model, inputs, store, instead)
                found = caught(step)
        if not isinstance(found, UserRaised):
            return found
        if refused is None:
            refused = producer, found.error
    if tracing is not None:
        return _traced(tracing)
    assert refused is not None
    raise refused[1]


def _instead(
    refused: tuple[Producer, BaseException] | None, entry: Entry, module: ModuleType
) -> contextlib.AbstractContextManager[None]:
    """Lets listings say who could not make them."""
    if refused is None:
        return contextlib.nullcontext()
    producer, error = refused
    territory = Territory(Path(entry.path))
    why = failure_of(error, Reason.TRACE, territory, entry, module)
    return in_place_of(producer.title, in_a_line(why))


def _traced(tracing: Tracing) -> _Generated:
    made = tracing.graph_module
    code: CodeType = type(made).forward.__code__
    # The lines of a long listing are in functions inside of the forward.
    parts = [one for one in code.co_consts if isinstance(one, CodeType)]
    return Path((parts[0] if parts else code).co_filename), made


def _produced(
    producer: Producer,
    model: Model,
    inputs: Inputs,
    store: Store,
    instead: Callable[[], contextlib.AbstractContextManager[None]],
) -> _Generated | Failure:
    if producer is Producer.EXPORT:
        with instead():
            listing, run = exported_to_run(model.root, inputs.args, inputs.kwargs)
        return store.materialize(listing), run
    with instead():
        listings = compiled(model.root, inputs.args, inputs.kwargs)
    if not listings:
        return Failure(Reason.TRACE, "torch.compile captured no graph of it")
    torch.compiler.reset()  # as a program that compiles it the first time
    again: Any = cast("Any", torch).compile(model.root, backend="eager")

    def run_again(*args: object, **kwargs: object) -> object:
        with instead():
            return again(*args, **kwargs)

    return store.materialize(listings[0]), run_again


def _place(path: Path, store: Store, node: str | None) -> tuple[str, int] | str:
    """File and line of a node, or of the first one; or why there is none."""
    try:
        listing = store.read(path)
    except StoreError as error:
        return str(error)
    lines = {f.name: f.line + 1 for f in listing.nodes if f.line != listing.definition}
    if node in lines:
        return str(path), lines[node]
    computed = [f for f in listing.nodes if f.opcode != "placeholder"]
    if node is None:
        return str(path), lines[computed[0].name]
    if node in [facts.name for facts in listing.nodes]:
        return (
            f"{node} is an input, and no line of the code is its own\n"
            f"help: Stop on what uses it, or on the first node, {computed[0].name}."
        )
    return _no_node(node, computed)


def _no_node(node: str, computed: Sequence[Facts]) -> str:
    names = [facts.name for facts in computed]
    # torch.compile names nodes after the variables of the model.
    calling = [f.name for f in computed if f.target.rpartition(".")[2] == node]
    near = get_close_matches(node, names, 3, 0.3)
    if calling:
        calls = "calls" if len(calling) == 1 else "call"
        said = f"It has {_listed(calling)}, which {calls} {node}."
    elif len(names) == 1:
        said = f"Its only node is {names[0]}."
    elif near and len(names) > _FEW:
        nearest = f"{_listed(near)} {'is' if len(near) == 1 else 'are'} nearest"
        said = f"Of its {len(names)} nodes, {nearest} to that name."
    else:
        said = f"Its nodes are {_listed(names)}."
    return f"the graph has no node {node!r}\nhelp: {said}"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence; of many the first ones, and how many others there are."""
    shown, others = list(names[:_FEW]), list(names[_FEW:])
    parts = [*shown, *(others if len(others) < 2 else [f"{len(others)} others"])]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _stop_at(place: tuple[str, int]) -> None:
    """Let the debugger stop there once.

    The client does not know of it, and shows no breakpoint.
    """
    debugger = connected()
    if debugger is not None:
        debugger.copy(Breakpoint(0, *place, _ONCE), *place)


def _in_pdb(place: tuple[str, int], call: Callable[[], None]) -> int:
    """Call it in pdb, which stops there, or where it raises."""
    debugger = Pdb()
    debugger.stop_on(*place)
    # In front of the first prompt, which would be in a line of ours.
    debugger.rcLines.append("continue")
    result = attempt(lambda: debugger.runcall(call))
    if not isinstance(result, Raised):
        return 0
    traceback.print_exception(result.error)
    debugger.reset()
    debugger.interaction(None, result.error.__traceback__)
    return 1


def _call(
    entry: Entry, module: ModuleType, generated: Callable[..., object], inputs: Inputs
) -> Callable[[], None]:
    """Calls it from the line of the entry; what it raises is the program's."""
    line = 1 if entry.span is None else entry.span.start.line + 1
    text = "\n" * (line - 1) + "gm(*inputs.args, **inputs.kwargs)"
    code = compile(text, entry.path, "exec", dont_inherit=True)
    names = {**vars(module), "gm": generated, "inputs": inputs}
    return lambda: exec(code, names)


def _said(failure: Failure) -> str:
    return "\nhelp: ".join(filter(None, (failure.message, failure.advice)))


def _refuse(message: str) -> int:
    print(f"fxls: error: {message}", file=sys.stderr)  # noqa: T201  # a command line
    return 1


_Generated = tuple[Path, Callable[..., object]]

_FEW = 6
"""So many names are in a sentence."""

_ONCE = ("python-line", None, "None", None, "NONE", "@HIT@ == 1", False)
"""Neither condition nor message, suspending what the session suspends, the first time."""
