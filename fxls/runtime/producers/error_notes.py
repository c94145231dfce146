"""What is noted on an error that leaves the listing of a graph of torch's.

The same as `fxls.engine` notes on errors of its own graph modules: the node, the lines of
the source that it came from, and the inputs that it had.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from fxls.attempt import leave_out_frame
from fxls.engine.module.forward_error import described, quoted
from fxls.listing import Facts, Listing
from fxls.rules import BrokenRule

__all__ = ["note_on", "with_note"]

Read = Callable[[str], Listing | None]
"""The listing at a path; None for any other file."""

_PLACES = 4
_INPUTS = 8


def note_on(error: Exception, read: Read) -> None:
    """Note on an error which node raised it: that of the outermost listing."""
    if isinstance(error, BrokenRule):
        return  # it says so itself
    tb = error.__traceback__
    while tb is not None:
        listing = read(tb.tb_frame.f_code.co_filename)
        if listing is not None:
            _note(error, tb, listing)
            return
        tb = tb.tb_next


def with_note(
    call: Callable[..., object], note: Callable[[Exception], None]
) -> Callable[..., object]:
    """A function whose errors get a note."""

    def run(*args: object, **kwargs: object) -> object:
        try:
            return call(*args, **kwargs)
        except Exception as error:
            note(error)
            leave_out_frame(error)
            raise

    return run


def _note(error: Exception, tb: TracebackType, listing: Listing) -> None:
    for i, facts in enumerate(listing.nodes):
        if facts.line == tb.tb_lineno - 1 and facts.opcode != "placeholder":
            note = "\n".join(_lines(i, facts, tb, listing))
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            return


def _lines(
    node: int, facts: Facts, tb: TracebackType, listing: Listing
) -> Iterator[str]:
    text = linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno).strip()
    name = listing.identity.class_name
    yield f"Node {facts.name} of {name}: {text.partition(';  ')[0]}"
    origin = listing.origin(node)
    for place in reversed(origin.places[:_PLACES]) if origin else ():
        yield from quoted(place)
    yield from list(_inputs(facts, tb.tb_frame, listing))[:_INPUTS]


def _inputs(facts: Facts, frame: FrameType, listing: Listing) -> Iterator[str]:
    if facts.opcode == "call_module" and facts.detail is not None:
        yield f"  with {facts.target}: {facts.detail}"
    pieces = [*facts.args, *(value for _, value in facts.kwargs)]
    read = dict.fromkeys(one for some in pieces for one in some if isinstance(one, int))
    values = frame.f_locals
    for name in (listing.nodes[one].name for one in read):
        if name in values:
            yield f"  with {name}: {described(values[name])}"
