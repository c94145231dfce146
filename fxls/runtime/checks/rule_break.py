"""A node that breaks a rule, and what a person is told of it."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.engine.module.forward_error import quoted
from fxls.listing import Listing
from fxls.rules import BrokenRule, OnBreak, Rule
from fxls.runtime.debugging import pdb_stop as stops
from fxls.runtime.debugging import pydevd
from fxls.store import class_name_of
from fxls.tensor_view import shown
from fxls.watch_tally import tally

__all__ = ["RuleBreak", "deal_with"]

_PLACES = 4
_VALUES = 12
_LINE = 160
"""Characters of a listing's line that are shown; those of models are up to thousands."""
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class RuleBreak:
    """A node that breaks a rule.

    - The values are by the names that the listing, or a report, has for them.
    """

    rule: Rule
    path: Path
    node: str
    line: int
    """Counted from one."""
    said: str
    """What is wrong, as a clause."""
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    call: int
    """Which call of the forward it was, counted from one."""

    def summary(self) -> str:
        """The node and what is wrong, on one line."""
        return (
            f"{self.rule.value}: node {self.node} of {class_name_of(self.path)},"
            f" line {self.line} of {self.path.name}: {self.said}"
        )

    def report(self, listing: Listing | None) -> str:
        """Everything: node, lines of the source, inputs and outputs."""
        return "\n".join([self.summary(), *self._details(listing)])

    def _details(self, listing: Listing | None) -> Iterator[str]:
        line = linecache.getline(str(self.path), self.line).strip()
        # As tracebacks have it, which terminals and editors make a link.
        yield f'  File "{self.path}", line {self.line}, in forward'
        yield f"    {_around(self.node, line.partition(';  ')[0])}"
        yield from _origin(listing, self.node)
        module = _module(listing, self.node)
        where = f"in {module}, in" if module else "in"
        yield f"  {where} call {self.call:,} of this forward"
        for name, value in list(self.inputs.items())[:_VALUES]:
            yield f"  with {name}: {_short(value)}"
        for name, value in self.outputs.items():
            yield f"  gives {name}: {_short(value)}"


def deal_with(
    rule_break: RuleBreak,
    listing: Callable[[], Listing | None],
    frame: FrameType,
    on_break: OnBreak,
) -> BrokenRule | None:
    """Stop in the frame, where there is a debugger; else report.

    Returns the exception that is to be raised in the frame, when that is asked for.
    """
    tally.found(rule_break.summary())
    report = rule_break.report(listing())
    broken = BrokenRule(report)
    debugger = pydevd.connected()
    stopped = False
    if debugger is not None:
        with pydevd.logging_unknown("a broken rule does not stop"):
            debugger.say(report)
            debugger.stop_for(frame, BrokenRule(rule_break.summary()))
            stopped = True
    if not stopped:
        stopped = stops.stop_in_pdb(frame, report)
    if on_break is OnBreak.RAISE:
        return broken
    if not stopped:
        sys.stderr.write(f"fxls: {report}\n")
    return None


def _around(name: str, line: str) -> str:
    """A line of a listing, or what stands around a name in a long one: the parameters of
    a model that torch.compile captured are all on the line of the `def`.
    """
    if len(line) <= _LINE:
        return line
    found = re.search(rf"\b{re.escape(name)}\b", line)
    at = found.start() if found else 0
    begin = max(0, min(at - _LINE // 4, len(line) - _LINE))
    end = max(begin + _LINE, at + len(name))
    before, behind = "… " * (begin > 0), " …" * (end < len(line))
    return f"{before}{line[begin:end].strip()}{behind}"


def _origin(listing: Listing | None, node: str) -> Iterator[str]:
    if listing is None:
        return
    for i, facts in enumerate(listing.nodes):
        if facts.name == node:
            origin = listing.origin(i)
            for place in reversed(origin.places[:_PLACES]) if origin else ():
                yield from quoted(place)
            return


def _module(listing: Listing | None, node: str) -> str:
    """The path of the submodule that was being called; empty for the root."""
    for i, facts in enumerate(listing.nodes if listing else ()):
        if facts.name == node and listing is not None:
            return next((one.path for one in listing.module_path(i)[::-1]), "")
    return ""


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return shown(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)[:_VALUES]
        return f"[{', '.join(_short(one) for one in items)}]"
    text = attempt(lambda: " ".join(repr(value).split()))
    if isinstance(text, Raised):
        return type(value).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
