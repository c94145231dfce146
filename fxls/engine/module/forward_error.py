"""What is said when a generated forward raises.

The exception gets a note with the node, the source that it came from and the inputs that
it had: whoever prints the exception prints that. FX's own sentence goes to standard
error, where programs that watch for it find it.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from operator import attrgetter
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.engine.errors import TraceError
from fxls.engine.origins import resolve as origin
from fxls.rules import BrokenRule

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node
    from fxls.engine.module.compile import ForwardCode
    from fxls.listing import Place

__all__ = ["described", "quoted", "report"]

_PLACES = 4
"""Frames of the source that are shown, the innermost ones."""
_INPUTS = 8
_LONGEST = 120


def report(
    code: ForwardCode, name: str, forward: object, error: Exception, *, aloud: bool
) -> None:
    """Note on an error which node of the module called `name` raised it.

    `aloud` says FX's sentence as well, when no function that the code calls is to blame.
    """
    tb = error.__traceback__
    while tb is not None and not _is_of(tb, forward):
        tb = tb.tb_next
    if tb is None:
        return
    function = tb.tb_frame.f_code
    if tb.tb_next is not None and _is_part(tb.tb_next, function):
        tb = tb.tb_next  # a part of the forward that is a function of its own
    node = code.node_at(function, tb.tb_lineno)
    # What cannot be traced, and what breaks a rule, says where it is itself.
    if node is not None and not isinstance(error, TraceError | BrokenRule):
        error.add_note("\n".join(_note(node, name, tb)))
    if aloud and tb.tb_next is None:
        _say(tb)


def _is_of(tb: TracebackType, forward: object) -> bool:
    return isinstance(forward, FunctionType) and tb.tb_frame.f_code is forward.__code__


def _is_part(tb: TracebackType, function: CodeType) -> bool:
    return any(tb.tb_frame.f_code is one for one in function.co_consts)


def _note(node: Node, name: str, tb: TracebackType) -> Iterator[str]:
    line = linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno).strip()
    yield f"Node {node.name} of {name}: {line.partition(';  ')[0]}"
    found = node.origin
    if found is not None:
        for place in reversed(found.places[:_PLACES]):
            yield from quoted(place)
    yield from list(_inputs(node, tb.tb_frame))[:_INPUTS]


def quoted(place: Place) -> Iterator[str]:
    """A place as Python's tracebacks write it, with carets under the expression."""
    start, end = place.span.start, place.span.end
    yield f'  File "{place.path}", line {start.line + 1}, in {place.function}'
    text = origin.source_line(place)
    if text.strip():
        indent = len(text) - len(text.lstrip())
        stop = end.column if end.line == start.line else len(text.rstrip())
        yield f"    {text.strip()}"
        carets = "^" * max(1, stop - start.column)
        if len(carets) < len(text.strip()):
            yield f"    {' ' * (start.column - indent)}{carets}"


def _inputs(node: Node, frame: FrameType) -> Iterator[str]:
    """What the node was given, by the names that the code has for it."""
    values = frame.f_locals
    if node.op == "call_module":
        path = str(node.target)
        module = attempt(lambda: attrgetter(path)(values.get("self")))
        yield f"  with {path}: {described(module)}"
    for used in node.all_input_nodes:
        if used.name in values:
            yield f"  with {used.name}: {described(values[used.name])}"


def described(value: Any) -> str:
    """A value by what errors are about: dtype, shape and device of every tensor."""
    if isinstance(value, torch.Tensor):
        device = "" if value.device.type == "cpu" else f" {value.device}"
        kind = str(value.dtype).removeprefix("torch.")
        return f"{kind} {tuple(value.shape)}{device}"
    if isinstance(value, list | tuple):
        items = [described(one) for one in cast("list[Any]", value)[:_INPUTS]]
        return f"[{', '.join(items)}]"
    if isinstance(value, int | float | str | type(None) | torch.nn.Module):
        text = attempt(lambda: " ".join(repr(value).split()))
        if isinstance(text, Raised):
            return type(value).__name__
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return type(value).__name__


def _say(tb: TracebackType) -> None:
    at, lines = tb.tb_lineno, linecache.getlines(tb.tb_frame.f_code.co_filename)
    marker = "~" * len(lines[at - 1].strip()) if at <= len(lines) else ""
    said = [
        (
            f"\n\nCall using an FX-traced Module, line {at} of the traced Module's generated"
            " forward function:"
        ),
        "".join(lines[max(0, at - 2) : at]),
        f"{marker}~~~ <--- HERE",
        "".join(lines[at : at + 2]),
    ]
    print("\n".join(said), file=sys.stderr)  # noqa: T201 - FX says it there
