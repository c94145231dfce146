"""What `fxls run` says when the program has ended."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from fxls.store.pruning import wanted_since

__all__ = ["say_unmeasured", "summarize"]


def summarize(root: Path, start: float) -> None:
    """Say on standard error how many listings were made since `start`, and where."""
    _print(_said(len(wanted_since(root, start)), root))


def say_unmeasured(*, is_main: bool) -> None:
    """Say on standard error why no kernel was measured, if none was.

    A process that is not the main one says nothing of code that it never had.
    """
    why = "the program made no graph" if is_main else ""
    runtime: Any = sys.modules.get("fxls.runtime.installing")
    if runtime is not None:
        why = runtime.unmeasured(is_main=is_main)
    if why:
        _print(f"fxls: no kernel was measured in this process: {why}")


def _print(text: str) -> None:
    # The program may have left its standard error in any state.
    if sys.stderr is not None and not sys.stderr.closed:
        print(text, file=sys.stderr)  # noqa: T201  # a command line


def _said(count: int, root: Path) -> str:
    where = os.path.relpath(root)
    if not count and "fxls.runtime" not in sys.modules:
        return f"fxls: no listings in {where} are of this program, which made no graph"
    if not count:
        return (
            f"fxls: no new listings in {where}; `fxls list` shows those that are there"
        )
    listings = "1 listing" if count == 1 else f"{count} listings"
    return f"fxls: {listings} in {where}; `fxls list` shows them"
