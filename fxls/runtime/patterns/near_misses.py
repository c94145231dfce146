"""Where a pattern of the program's nearly had a match in a graph of inductor's, and what
stood in the way, for the record.

What inductor's own patterns miss is not looked at: there are hundreds of them.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fxls.installed_torch import private
from fxls.record import MatchedPattern, Searched
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.patterns.replaced_patterns import note_misses
from fxls.runtime.patterns.subgraph_misses import Miss
from fxls.runtime.patterns.written_patterns import code_of, functions_of, named
from fxls.runtime.producers.places.node_places import NodePlaces, bare
from fxls.runtime.record.recorder import Recorder
from fxls.runtime.torch_private import compile_id, is_compiling

__all__ = ["NearMisses"]

_MISSED = "near misses of patterns are not recorded"
_MOST_PATTERNS = 64
_MOST_CANDIDATES = 200
_LONGEST_VALUE = 60
_UNNAMED = "pattern_matcher"
"""What inductor calls the run of a pass that has no name."""
_WHOLE = 1_000
"""More than any part of a pattern."""

_STEPS = ("call_function", "call_method", "call_module")

_TORCH = str(Path(torch.__file__).parent)


@dataclass(slots=True, eq=False)
class _Watched:
    """A pattern of the program's, while its pass runs."""

    entry: Any
    candidates: list[Any]
    """The nodes that may be the last one of a match."""
    check: Callable[[Any], Any]
    """What the program refuses a match with."""
    count: int = 0
    """How many matches it had."""
    matched: set[Any] = field(default_factory=set[Any])
    """The last nodes of what was replaced."""
    refused: dict[Any, Miss] = field(default_factory=dict[Any, Miss])
    """By the last node."""
    exact: Any = None
    """The pattern as the check made it for the types of a match."""

    def named(self) -> MatchedPattern:
        """What the record says of it."""
        return named(self.entry, self.count)

    def watch(self) -> None:
        """Take note of what the check of the pattern says, until `leave`."""

        @functools.wraps(self.check)
        def asked(match: Any) -> Any:
            self.exact = None
            making, _making.by = getattr(_making, "by", None), self
            try:
                said = self.check(match)
            finally:
                _making.by = making
            with logging_faults(_MISSED):
                node = match.nodes[-1]
                if said:
                    self.count += 1
                    self.matched.add(node)
                else:
                    self.refused[node] = _refusal(node, self.exact)
            return said

        self.entry.extra_check = asked

    def leave(self) -> None:
        """Give the pattern its own check back."""
        self.entry.extra_check = self.check


_making = threading.local()
"""The pattern whose check runs in a thread, as `by`."""


class NearMisses:
    """Looks at what a pass of patterns left, by its hook."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = NodePlaces()
        self._own: weakref.WeakKeyDictionary[Any, tuple[int, list[Any]]] = (
            weakref.WeakKeyDictionary()
        )
        """By pass, how many patterns it has, and those of them that are the program's."""

    def hooks(self) -> tuple[Hook, ...]:
        """Where inductor looks for the patterns of a pass."""
        return (
            Hook(
                "torch._inductor.pattern_matcher",
                _MISSED,
                {
                    "PatternMatcherPass.apply": around(self._apply, _MISSED),
                    "fx_to_pattern": around(self._made, _MISSED),
                },
            ),
        )

    def _made(self, _gm: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        pattern = yield
        by: _Watched | None = getattr(_making, "by", None)
        if by is not None:
            by.exact = pattern
        return pattern

    def _apply(self, patterns: Any, /, gm: Any) -> Generator[None, Any, Any]:
        own: list[_Watched] = []
        with logging_faults(_MISSED):
            graph = getattr(gm, "graph", gm)
            own = [
                _Watched(entry, [*_candidates(entry, graph)], entry.extra_check)
                for entry in self._entries(patterns)
            ]
        for one in own:
            one.watch()
        try:
            count = yield
        finally:
            for one in own:
                one.leave()
        with logging_faults(_MISSED):
            compilation = (
                self._recorder.called(compile_id()) if is_compiling() else None
            )
            self._recorder.note(
                Searched(
                    patterns.pass_name or _UNNAMED,
                    count,
                    compilation,
                    tuple(one.named() for one in own),
                )
            )
            for one in own:
                note_misses(
                    *(self._recorder, self._places, one.named(), compilation),
                    _misses(one),
                )
        return count

    def _entries(self, patterns: Any) -> list[Any]:
        """The patterns of a pass that are the program's."""
        entries = [one for some in [*patterns.patterns.values()] for one in some]
        known = self._own.get(patterns)
        if known is None or known[0] != len(entries):
            alone = {id(one): one for one in entries if _is_own(one)}
            known = len(entries), [*alone.values()][:_MOST_PATTERNS]
            self._own[patterns] = known
        return known[1]


def _is_own(entry: Any) -> bool:
    codes = map(code_of, functions_of(entry))
    return any(
        code is not None and not code.co_filename.startswith(_TORCH) for code in codes
    )


def _candidates(entry: Any, graph: Any) -> Iterator[Any]:
    """The nodes at which inductor looks for a pattern, the last ones first."""
    targets = set(entry.pattern.fns)
    count = 0
    for node in reversed(graph.nodes):
        if node.op == entry.pattern.op and node.target in targets:
            count += 1
            if count > _MOST_CANDIDATES:
                return
            yield node


def _misses(watched: _Watched) -> Iterator[Miss]:
    for node in watched.candidates:
        if node in watched.matched or node._erased:
            continue
        if node in watched.refused:
            yield watched.refused[node]
            continue
        said = (
            "it has the form of the pattern; what changes a tensor in place stands"
            " in it, or it has that form only since another match was replaced"
        )
        miss = _tried(watched.entry.pattern, node)
        yield miss or Miss(node, node, said, _WHOLE)


def _refusal(node: Any, exact: Any) -> Miss:
    """Why a check refused a match: it looks at constants, and at what the program says."""
    miss = None if exact is None else _tried(exact, node)
    said = "it has the form of the pattern, and the extra check refused it"
    return miss or Miss(node, node, said, _WHOLE)


def _tried(pattern: Any, node: Any) -> Miss | None:
    """How far a pattern goes from a node on, in a context of torch's that takes note."""
    base: Any = private("torch._inductor.pattern_matcher:MatchContext", _MISSED)
    failure: Any = private("torch._inductor.pattern_matcher:FailedMatch", _MISSED)

    class Tried(base):
        def __init__(self, outputs: Any, **options: Any) -> None:
            theirs: Any = super()
            theirs.__init__(outputs, **options)
            self.held = 0
            self.failed: tuple[Any, str, int] | None = None
            self._by: Any = None
            self._path: list[Any] = []

        def match(self, pattern: Any, node: Any) -> Any:
            parent = self._path[-1] if self._path else None
            self._path.append(node)
            theirs: Any = super()
            found: Any = theirs.match(pattern, node)
            depth = len(self._path)
            self._path.pop()
            if found:
                self.held += hasattr(pattern, "fns")
                if self._by is pattern:
                    # One of several nodes was no match, and another one is.
                    self.failed = self._by = None
            elif self.failed is None:
                is_step = isinstance(node, torch.fx.Node) and node.op in _STEPS
                blocking = node if is_step else parent
                before = self.pattern_to_node.get(pattern)
                reason = _why(pattern, node, found, parent, before)
                is_other = found.format_string.startswith("function_mismatch")
                self.failed = blocking, reason, depth - is_other
                self._by = pattern
            return found

    context = Tried(getattr(pattern, "outputs", [pattern]), graph=node.graph)
    try:
        context.match(pattern, node)
    except failure as error:
        context.failed = node, str(error), 1
    if context.failed is None:
        return None
    blocking, reason, depth = context.failed
    return Miss(node, blocking or node, reason, context.held + depth)


def _why(pattern: Any, node: Any, failed: Any, parent: Any, before: Any) -> str:
    """What about a node, or another argument, is not as in a pattern."""
    wanted = pattern.fns_repr() if hasattr(pattern, "fns_repr") else "something else"
    if failed.format_string == "repeated pattern differs":
        one, other = _value(before), _value(node)
        other = f"another {other.removeprefix('an ')}" if one == other else other
        return f"the pattern has one value twice, and here there are {one} and {other}"
    if not isinstance(node, torch.fx.Node):
        whose = bare(parent.name) if parent is not None else "it"
        return f"{whose} has {_value(node)}, and the pattern has {wanted} there"
    name = bare(node.name)
    if node.op not in _STEPS and parent is not None:
        return f"{bare(parent.name)} reads {_value(node)}, and the pattern has {wanted} there"
    if failed.format_string.startswith("function_mismatch"):
        if node.target not in pattern.fns_set:
            return f"{name} is {node.target}, and the pattern has {wanted} there"
        counts = len(node.args), len(pattern.args)
        return f"{name} has {counts[0]} arguments, and in the pattern {counts[1]}"
    if failed.format_string.startswith("multiple_users"):
        return f"{name} has {len(node.users)} users, and in the pattern {pattern.users}"
    if failed.format_string.startswith("constant_args"):
        has, wants = failed.args[1], failed.kwargs["pattern"]
        return f"{name} has {_value(has)}, and the pattern has {_value(wants)}"
    if failed.format_string.startswith("args_structure"):
        return f"the arguments of {name} are arranged otherwise than in the pattern"
    return f"{name}: {failed}"


def _value(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return "an input" if value.op == "placeholder" else bare(value.name)
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
