"""What a call of torch.export is given, comes to, and fails with, for the record."""

from __future__ import annotations

import dis
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, cast

import torch

import fxls
from fxls.record import Event
from fxls.record.export_trace import ExportTrace, Frame
from fxls.record.quoted_place import Columns
from fxls.record.trace_texts import frames_in
from fxls.repairs import Check
from fxls.runtime.producers.places.asked_places import asked_by

__all__ = ["check_of", "conditions_of", "export_of", "note_failure"]

_INSTALLED = tuple(
    os.path.join(os.path.dirname(str(module.__file__)), "")  # noqa: PTH118, PTH120
    for module in (torch, fxls)
)
_MOST_CHECKS = 8
_MOST_WRAPPED = 8
_CHECK = re.compile(r"^\s+\d+\. torch\._check\((.+)\)$", re.MULTILINE)
"""torch composes these in its message, in the names of the source."""
_REASON = re.compile(
    r"Could not (?:guard on|extract specialized integer from) .+?(?= \(unhinted|$)",
    re.MULTILINE,
)
_DYNAMIC = re.compile(r"^\s*- ((?:You marked|Not all values of) .+)$", re.MULTILINE)
_PATH = re.compile(r"L\['([A-Za-z_]\w*)'\]\.size\(\)\[(\d+)\]")


def export_of(
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    note: Callable[[Event], None],
    text: Callable[[int], str],
) -> ExportTrace:
    """What takes the entries of a call of torch.export."""
    module = args[0] if args else kwargs.get("mod")
    owner = cast("Any", type(module))
    forward: Any = getattr(owner, "forward", None)
    code = getattr(inspect.unwrap(forward), "__code__", None) if forward else None
    at = None
    if isinstance(code, CodeType) and not code.co_filename.startswith("<"):
        at = Frame(code.co_filename, code.co_firstlineno, code.co_name)
    return ExportTrace(name, at, note, text, _INSTALLED)


def conditions_of(program: Any, trace: ExportTrace) -> Iterator[str]:
    """The ranges of the sizes of inputs, as torch.compile writes them."""
    for symbol, values in program.range_constraints.items():
        size = trace.size_of(str(symbol))
        if size:
            low, high = (str(one) for one in (values.lower, values.upper))
            bounds = [f"{low} <= {size}"] * low.isdecimal()
            bounds += [f"{size} <= {high}"] * (high.isdecimal() and int(high) < _MOST)
            yield " and ".join(bounds)


_MOST = 2**62
"""torch counts what has no bound up to about that."""


def note_failure(trace: ExportTrace, error: BaseException) -> None:
    """Note what torch could not do; an error of the program's own is no remark."""
    text = str(error)
    of_data, marked = _REASON.search(text), _DYNAMIC.search(text)
    if of_data is not None:
        check = check_of(error)
        hints = tuple(f"torch._check({one})" for one in check.conditions)
        trace.fail(of_data[0].strip(), _frames(error), hints, check)
    elif marked is not None:
        said = _PATH.sub(r"\1.size(\2)", marked[1])
        trace.fail(said, (), tuple(_fixes(text)))


def check_of(error: BaseException) -> Check:
    """What would tell torch of the value that it had to know."""
    conditions = tuple(_CHECK.findall(str(error)))[:_MOST_CHECKS]
    is_number = bool(conditions) or any(_asks_numbers(one) for one in _chain(error))
    return Check(conditions, is_tensor=not is_number)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised from; Dynamo wraps what torch says."""
    for _ in range(_MOST_WRAPPED):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _asks_numbers(error: BaseException) -> bool:
    """Whether a number of torch's was asked for its value, and no tensor."""
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        first = code.co_varnames[0] if code.co_argcount else ""
        asked = at.tb_frame.f_locals.get(first)
        if isinstance(asked, torch.SymBool | torch.SymInt | torch.SymFloat):
            return True
        at = at.tb_next
    return False


def _fixes(text: str) -> Iterator[str]:
    """What torch advises for the sizes that were marked as dynamic."""
    lines = text.partition("Suggested fixes:\n")[2].splitlines()
    for line in lines:
        if not line.startswith("  "):
            return
        yield line.strip()


def _frames(error: BaseException) -> list[Frame]:
    """The frames of an error, innermost first: those of the program as torch followed it,
    where it did, or those of Python.
    """
    followed = getattr(error, "real_stack", None)
    if followed:
        return [_followed(one) for one in reversed([*followed])]
    # What torch wrapped has the stack in its words alone.
    told = [*frames_in(str(error).partition("\nfrom user code:\n")[2])]
    if told:
        return [Frame(*one) for one in reversed(told)]
    found: list[Frame] = []
    at = error.__traceback__
    while at is not None:
        code, lasti = at.tb_frame.f_code, at.tb_lasti
        done = [one for one in dis.get_instructions(code) if one.offset <= lasti]
        where = asked_by(done, done[-1]).positions if done else None
        columns = None
        if where is not None and None not in where:
            line, end_line, start, end = (int(one or 0) for one in where)
            columns = Columns(line, start, end_line, end)
        found.append(Frame(code.co_filename, at.tb_lineno, code.co_name, columns))
        at = at.tb_next
    return found[::-1]


def _followed(frame: Any) -> Frame:
    """A frame as torch has it, which may know no columns."""
    columns = None
    if frame.colno is not None and frame.end_colno is not None:
        columns = Columns(frame.lineno, frame.colno, frame.end_lineno, frame.end_colno)
    return Frame(frame.filename, frame.lineno, frame.name, columns)
