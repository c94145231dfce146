"""The program that `fxls compare` runs of an entry: its model is compiled and called.

``python -m fxls.launching.compared_entry FILE:EXPRESSION`` does once what a step of
training does: the model is called with the example inputs, and what it returns is led
back where it needs a gradient.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from fxls import regular_file
from fxls.entry import Entry
from fxls.launching.entry_argument import EntryArgument, entries_of, entry_argument
from fxls.listing import Failure
from fxls.store import locate
from fxls.worker.evaluate import Refused, evaluate
from fxls.worker.load import home_of, load
from fxls.worker.produce import ignore_compilers

__all__ = ["main", "named_entry"]

any_torch: Any = torch


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile an entry and call it; returns what the process should end with."""
    (text,) = sys.argv[1:] if arguments is None else arguments
    argument = entry_argument(text)
    entry = argument if isinstance(argument, str) else named_entry(argument)
    if not isinstance(entry, Entry):
        return _refuse(entry if isinstance(entry, str) else _said(entry))
    path = Path(entry.path)
    ignore_compilers()
    any_torch.manual_seed(0)
    try:
        data = regular_file.read(path, regular_file.SOURCE_BYTES)
        module = load(home_of(path), locate(path).parent)
        model = evaluate(entry, module, data.decode("utf-8", errors="replace"))
    except Refused as refused:
        return _refuse(_said(refused.failure))
    except NameError as error:
        if error.name is None or error.name not in entry.expression:
            raise
        return _refuse(f"{path.name} has no {error.name}\nhelp: {_known_entries(path)}")
    except OSError as error:
        return _refuse(str(error))
    if model.inputs is None:
        return _refuse(
            f"`{entry.expression}` has no example inputs, so there is nothing to run\n"
            "help: Call the model in the entry: `Net()(torch.randn(1, 3))`."
        )
    # A model that compiles itself is not compiled around that.
    root: Any = model.root
    is_compiled = hasattr(root, "_orig_mod") or hasattr(
        root, "_torchdynamo_orig_callable"
    )
    run = root if is_compiled else any_torch.compile(root)
    returned = [*_tensors(run(*model.inputs.args, **model.inputs.kwargs))]
    led = [one for one in returned if one.requires_grad]
    if led:
        any_torch.autograd.backward(led, [any_torch.ones_like(one) for one in led])
    return 0


def named_entry(argument: EntryArgument) -> Entry | Failure:
    """The entry that a command line means: by its name, its class, or its expression;
    without any of these the first of the file.
    """
    entries, failures = entries_of(EntryArgument(argument.path, None))
    wanted = argument.expression
    if wanted is None:
        return entries[0] if entries else failures[0]
    for entry in entries:
        if wanted in (entry.name, entry.expression):
            return entry
    for entry in entries:
        # A class, or a call of it without inputs, is the entry that calls it with some.
        called = entry.expression.partition("(")[0]
        if wanted == called or entry.expression.startswith(f"{wanted}("):
            return entry
    (entry,) = entries_of(argument)[0]
    return entry


def _known_entries(path: Path) -> str:
    entries, _ = entries_of(EntryArgument(path, None))
    if not entries:
        return "Name a class or a function of the file, and call it with inputs."
    return "Its entries are " + ", ".join(f"`{one.name}`" for one in entries[:4]) + "."


def _tensors(value: object) -> Iterator[Any]:
    """The tensors in what a model returns, which may be an object with attributes."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for one in cast("Mapping[Any, Any]", value).values():
            yield from _tensors(one)
    elif isinstance(value, tuple | list):
        for one in cast("Sequence[Any]", value):
            yield from _tensors(one)


def _said(failure: Failure) -> str:
    return "\nhelp: ".join(filter(None, (failure.message, failure.advice)))


def _refuse(message: str) -> int:
    print(f"fxls: error: {message}", file=sys.stderr)  # noqa: T201  # a command line
    return 2


if __name__ == "__main__":
    sys.exit(main())
