"""The traceback of an exception that nobody caught shows the text that ran.

Python before 3.13 reads the lines of such a traceback from the file, which may have been
edited or deleted meanwhile, and shows none of code in memory.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Any

from fxls.runtime.hooks import Hook

__all__ = ["hooks"]


def hooks() -> tuple[Hook, ...]:
    """What prints uncaught exceptions, where nobody else does: `traceback` is to."""
    if sys.version_info >= (3, 13):
        return ()
    without = "a traceback shows the lines that a file has when it is printed"
    return (Hook("sys", without, {"excepthook": _printing}),)


def _printing(theirs: Any) -> Any:
    return _print if theirs is sys.__excepthook__ else theirs


def _print(
    kind: type[BaseException], error: BaseException, tb: TracebackType | None
) -> None:
    traceback.print_exception(kind, error, tb)
