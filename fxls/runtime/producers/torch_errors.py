"""What torch prints when generated code of its FX raises.

torch knows its code by the name it gives it, shows its lines, and hides the frame. Code
that runs under the path of a listing is shown so, too, and keeps its frame, so that a
debugger can look at it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from fxls.attempt import leave_out_frame
from fxls.installed_torch import private
from fxls.listing import Listing
from fxls.rules import BrokenRule
from fxls.runtime.faults import logging_faults
from fxls.runtime.producers.error_notes import note_on

__all__ = ["explain_errors", "explain_errors_in", "note_error"]

_Wrapped: Any = private(
    "torch.fx.graph_module:_WrappedCall",
    "errors in graph modules of torch.fx have no notes",
)


def explain_errors_in(path: Path, read: Callable[[], Listing | None]) -> None:
    """Count errors in this file, which is the listing that is read, among those to be
    shown.
    """
    _listings[str(path)] = read


def note_error(error: Exception) -> None:
    """Note on an error which node of a listing raised it."""
    with logging_faults("an error has no note"):
        note_on(error, lambda path: _listings.get(path, _no_listing)())


def explain_errors(kind: Any) -> None:
    """Let calls of graph modules of this class show errors."""
    wrapped: Any = kind.__dict__.get("_wrapped_call")
    if type(wrapped) is _Wrapped:
        wrapped.__class__ = _Explained


class _Explained(_Wrapped):
    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        kind: Any = getattr(self, "cls", None)
        if kind is None:  # of another torch, which calls by other means
            return _Wrapped.__call__(self, obj, *args, **kwargs)
        own: Any = getattr(self, "cls_call", None)
        outer: Any = cast("Any", super(kind, obj))
        call: Any = cast("Any", outer.__call__ if own is None else partial(own, obj))
        try:
            return call(*args, **kwargs)
        except Exception as error:
            if not isinstance(error, BrokenRule):
                with logging_faults("an error is not shown with its lines"):
                    _show(error)
            note_error(error)
            leave_out_frame(error)
            raise


def _show(error: Exception) -> None:
    """Print what torch prints when the innermost frame is of generated code."""
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is not None:
        path = innermost.tb_frame.f_code.co_filename
        if path in _listings or "eval_with_key" in path:
            summary = traceback.extract_tb(innermost)[-1]
            message = _Wrapped._generate_error_message(summary)
            print(message, file=sys.stderr)  # noqa: T201 - as torch does


def _no_listing() -> None:
    """Of a file of others."""


_listings: dict[str, Callable[[], Listing | None]] = {}
