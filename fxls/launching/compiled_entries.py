"""`python -m fxls.launching.compiled_entries FILE[:EXPRESSION]`: the entries of a file run
under torch.compile, each once and with its example inputs, for `fxls check`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from fxls import regular_file
from fxls.entry import Entry
from fxls.launching.entry_argument import entries_of, entry_argument
from fxls.store import locate
from fxls.worker.evaluate import Refused, evaluate
from fxls.worker.load import home_of, load

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Run them; returns what the process should end with."""
    (argument,) = arguments
    target = entry_argument(argument)
    if isinstance(target, str):
        return _refuse(target)
    entries, failures = entries_of(target)
    for failure in failures:
        _refuse(failure.message)
    if failures:
        return 1
    data = regular_file.read(target.path, regular_file.SOURCE_BYTES)
    text = data.decode("utf-8", errors="replace")
    module = load(home_of(target.path), locate(target.path).parent)
    ran = 0
    for entry in entries:
        try:
            ran += _ran(entry, module, text)
        except Refused as refused:
            return _refuse(f"{entry.expression}: {refused.failure.message}")
    if not ran:
        return _refuse(f"{Path(entries[0].path).name}: no entry has example inputs")
    return 0


def _ran(entry: Entry, module: Any, text: str) -> bool:
    """Call an entry's model compiled; False where there is nothing to call it with."""
    any_torch: Any = torch
    # The order of the entries is not what a baseline is about.
    any_torch.compiler.reset()
    any_torch.manual_seed(0)
    model = evaluate(entry, module, text)
    if model.inputs is None:
        return False
    root: Any = model.root
    is_compiled = hasattr(root, "_orig_mod") or hasattr(
        root, "_torchdynamo_orig_callable"
    )
    run = root if is_compiled else any_torch.compile(root)
    run(*model.inputs.args, **model.inputs.kwargs)
    return True


def _refuse(message: str) -> int:
    sys.stderr.write(f"fxls: error: {message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
