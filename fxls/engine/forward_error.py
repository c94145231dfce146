"""What is said, on standard error, when a generated forward raises."""

from __future__ import annotations

import linecache
import sys
import traceback
from types import FunctionType
from typing import TYPE_CHECKING

from fxls.engine import origin

if TYPE_CHECKING:
    from fxls.engine.compile import ForwardCode

__all__ = ["report"]


def report(code: ForwardCode, forward: object, error: Exception) -> None:
    """Show the line of the generated code that raised, and the user's line behind it.

    Says nothing when the error comes from further inside: from a submodule, or from a
    function that the generated code calls.
    """
    tb = error.__traceback__
    assert tb is not None, "the error was caught a moment ago"
    while tb.tb_next is not None:
        tb = tb.tb_next
    running = tb.tb_frame.f_code
    if not isinstance(forward, FunctionType) or running is not forward.__code__:
        return
    at = tb.tb_lineno
    lines = linecache.getlines(running.co_filename)
    marker = "~" * len(lines[at - 1].strip()) if at <= len(lines) else ""
    named = "the traced Module's generated forward function"
    said = [
        "".join(traceback.format_exception(error)),
        f"Call using an FX-traced Module, line {at} of {named}:",
        "".join(lines[max(0, at - 2) : at]),
        f"{marker}~~~ <--- HERE",
        "".join(lines[at : at + 2]),
    ]
    node = code.node_at(running, at)
    place = None if node is None else node.origin
    if place is not None:
        first = place.places[0]
        said.append(
            f"which is, in {first.function} of {first.path},"
            f" line {first.span.start.line + 1}:\n"
            f"    {origin.source_line(first).strip()}"
        )
    print("\n".join(said), file=sys.stderr)  # noqa: T201 - FX says it there
