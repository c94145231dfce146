"""Which code the functions run that were made from listings.

While nothing is asked for, the code of a listing is what its text says, and costs what
it costs without fxls. When rules are set every function that was made from a listing gets
its code with calls in it; functions made later get it at once. Without rules, those of a
listing that has a breakpoint get their code in sections.
"""

from __future__ import annotations

import linecache
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from fxls.engine.module.compile import copied
from fxls.engine.origins import resolve as origin
from fxls.listing import Listing
from fxls.rules import OnBreak, Rule
from fxls.runtime.checks import loss_scaling
from fxls.runtime.checks.instrumented import ASKS, BROKEN, CHECK, instrumented
from fxls.runtime.checks.watched import CheckedListing
from fxls.runtime.faults import logging_faults
from fxls.runtime.listings.sectioned_code import sectioned_code
from fxls.watch_tally import tally

__all__ = ["RunningCode"]


class RunningCode:
    """The functions that were made from the listings of one store.

    A debugger sets rules in a thread of its own, while the program makes functions.
    """

    def __init__(self, instances: Callable[[Path], tuple[Listing, ...]]) -> None:
        """`instances` reads what the store knows of a listing, newest first."""
        self._instances = instances
        self._made: weakref.WeakKeyDictionary[FunctionType, _Made] = (
            weakref.WeakKeyDictionary()
        )
        self._watched: dict[Path, CheckedListing] = {}
        self._rules: tuple[Rule, ...] = ()
        self._on_break = OnBreak.REPORT
        self._broken_into: frozenset[Path] = frozenset()
        self._lock = threading.RLock()

    @property
    def is_watched(self) -> bool:
        """Whether values are looked at behind each statement."""
        return bool(self._rules)

    def set(self, rules: tuple[Rule, ...], on_break: OnBreak) -> None:
        """Watch for these rules from now on, and find again what was found before."""
        with self._lock:
            was = self.is_watched
            while self._watched:
                self._watched.popitem()[1].stop()
            self._rules, self._on_break = rules, on_break
            tally.watch([rule.value for rule in rules])
            if Rule.GRAD_NAN in rules:
                loss_scaling.notice()
            else:
                loss_scaling.forget()
            for function, made in list(self._made.items()):
                if was:
                    # A run that is under way goes on with the calls.
                    function.__globals__[CHECK] = _passes
                if rules:
                    self._watch(function, made)
                elif was:
                    self._let_be(function, made)

    def break_into(self, paths: frozenset[Path]) -> None:
        """Let these listings, and no others, be quick with a breakpoint in them."""
        with self._lock:
            changed = self._broken_into ^ paths
            self._broken_into = paths
            for function, made in list(self._made.items()) if changed else ():
                if made.path in changed and not self.is_watched:
                    self._let_be(function, made)

    def made(self, function: FunctionType, path: Path) -> None:
        """Take note of a function that was made from a listing."""
        with self._lock:
            self._made[function] = made = _Made(path, function.__code__)
            if self.is_watched:
                self._watch(function, made)
            elif path in self._broken_into:
                self._let_be(function, made)

    def _watch(self, function: FunctionType, made: _Made) -> None:
        with logging_faults("a listing is not watched"):
            watched = self._watched.get(made.path)
            if watched is None:
                watched = self._watched[made.path] = CheckedListing(
                    made.path,
                    instrumented(
                        *(made.text, str(made.path)),
                        sizes=Rule.SHAPE in self._rules,
                        views=not _OF_KINDS.isdisjoint(self._rules),
                    ),
                    self._rules,
                    self._on_break,
                    lambda: self._instances(made.path),
                )
                tally.watched(str(made.path))
            names: dict[str, Any] = function.__globals__
            names[CHECK] = watched.checks()
            names[ASKS] = watched.asks()
            names[BROKEN] = watched.broken
            code = watched.code.code
            _exchange(function, code.replace(co_filename=made.code.co_filename))

    def _let_be(self, function: FunctionType, made: _Made) -> None:
        code = made.code
        # Sections ask torch whether it compiles.
        if made.path in self._broken_into and "torch" in function.__globals__:
            with logging_faults("breakpoints in long functions are slow"):
                code = sectioned_code(made.text, str(made.path)) or code
        _exchange(function, code)


@dataclass(frozen=True, slots=True)
class _Made:
    """What a function was made from."""

    path: Path
    code: CodeType

    @property
    def text(self) -> str:
        """The text of the listing, as it was compiled."""
        return "".join(linecache.getlines(str(self.path)))


_OF_KINDS = {Rule.SHAPE, Rule.DTYPE_CHANGE}
"""Rules that a view may break although what it is made of does not."""


def _passes(_name: str, _value: object) -> bool:
    """The check of who checks nothing."""
    return False


def _exchange(function: FunctionType, code: CodeType) -> None:
    """Let a function run another code of the same lines."""
    # An object of its own, as origins and torch's compilations are noted by code object.
    own = copied(code)
    origin.note_same(own, function.__code__)
    function.__code__ = own
