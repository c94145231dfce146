"""The traceback of an exception that nobody caught shows the text that ran.

Python before 3.13 reads the lines of such a traceback from the file, which may have been
edited or deleted meanwhile, and shows none of code in memory.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from fxls.runtime.patches import Patches

__all__ = ["show_text_that_ran"]


def show_text_that_ran(patches: Patches) -> None:
    """Let uncaught exceptions be printed by `traceback`, unless somebody prints them."""
    if sys.excepthook is sys.__excepthook__ and sys.version_info < (3, 13):
        patches.put(sys, "excepthook", _print)


def _print(
    kind: type[BaseException], error: BaseException, tb: TracebackType | None
) -> None:
    traceback.print_exception(kind, error, tb)
