"""Searches for patterns by `replace_pattern` and `SubgraphMatcher`, of torch.fx and of
the engine: how many matches each had, and where it nearly had one, for the record.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fxls.engine.graph import Graph
from fxls.engine.origins.resolve import RawOrigin
from fxls.record import MatchedPattern, QuotedPlace, Remark, Searched, Subject, pairs
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.patterns.subgraph_misses import Miss, misses, with_form
from fxls.runtime.patterns.written_patterns import written_in
from fxls.runtime.producers.places.node_places import NodePlaces, bare
from fxls.runtime.record.recorder import Recorder
from fxls.runtime.torch_private import compile_id, is_compiling

__all__ = ["ReplacedPatterns", "note_misses"]

_MOST_KEPT = 4
"""So many near misses of a pattern are noted each time that it is looked for."""

_MISSED = "near misses of `replace_pattern` are not recorded"
_LONGEST = 500
_PACKAGES = ("torch.fx", "fxls.engine")
_TORCH = str(Path(torch.__file__).parent)


@dataclass(slots=True)
class _Replacing:
    """A pattern that is being replaced."""

    place: QuotedPlace | None
    is_torchs: bool
    misses: list[Miss] = field(default_factory=list[Miss])
    matches: list[Any] = field(default_factory=list[Any])
    """What the matcher found, which a filter may refuse."""


class ReplacedPatterns:
    """Looks at what a search left, by its hooks."""

    def __init__(
        self, recorder: Recorder, origin: Callable[[Any], RawOrigin | None]
    ) -> None:
        """`origin` gives that of a node of torch.fx."""
        self._recorder = recorder
        self._here = threading.local()
        self._places = NodePlaces(functools.partial(_origin, origin))

    def hooks(self) -> tuple[Hook, ...]:
        """What replaces patterns, and what looks for them."""
        return tuple(
            Hook(f"{package}.{module}", _MISSED, {name: around(watch, _MISSED)})
            for package in _PACKAGES
            for module, name, watch in (
                ("subgraph_rewriter", "_replace_pattern", self._replace),
                ("passes.utils.matcher_utils", "SubgraphMatcher.match", self._match),
            )
        )

    def _replace(
        self, _gm: Any, pattern: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        place = written_in(_function(pattern))
        outer = getattr(self._here, "replacing", None)
        replacing = self._here.replacing = _Replacing(place, _is_torchs(place))
        try:
            replaced = yield
        finally:
            self._here.replacing = outer
        with logging_faults(_MISSED):
            done = [one.nodes_map for one in replaced]
            refused = [
                with_form(
                    match, "it has the form of the pattern, and a filter refused it"
                )
                for match in replacing.matches
                if not any(match.nodes_map is one for one in done)
            ]
            found = [*refused, *replacing.misses]
            self._note(replacing.place, len(done), found)
        return replaced

    def _match(
        self, matcher: Any, /, graph: Any, node_name_match: str = ""
    ) -> Generator[None, Any, Any]:
        found = yield
        replacing: _Replacing | None = getattr(self._here, "replacing", None)
        with logging_faults(_MISSED):
            if replacing is None:
                place = self._written_in(matcher)
                if place is not None and not _is_torchs(place):
                    near = _nearest(matcher, graph, found, node_name_match)
                    self._note(place, len(found), near)
            elif not replacing.is_torchs:
                replacing.place = replacing.place or self._written_in(matcher)
                replacing.matches += found
                replacing.misses += _nearest(matcher, graph, found, node_name_match)
        return found

    def _written_in(self, matcher: Any) -> QuotedPlace | None:
        """Where a pattern comes from that is a graph."""
        return next(
            (
                place
                for anchor in matcher.pattern_anchors
                for place in self._places.of(anchor)[:1]
            ),
            None,
        )

    def _note(
        self, place: QuotedPlace | None, count: int, found: Iterable[Miss]
    ) -> None:
        if place is None or _is_torchs(place):
            return
        pattern = MatchedPattern(place.place.function, count, place)
        compilation = self._recorder.called(compile_id()) if is_compiling() else None
        self._recorder.note(Searched(pattern.name, count, compilation, (pattern,)))
        note_misses(self._recorder, self._places, pattern, compilation, found)


def note_misses(
    recorder: Recorder,
    places: NodePlaces,
    pattern: MatchedPattern,
    compilation: str | None,
    found: Iterable[Miss],
) -> None:
    """Put the nearest of the near misses of a pattern into the record."""
    for one in sorted(found, key=lambda miss: -miss.score)[:_MOST_KEPT]:
        recorder.note(
            Remark(
                *(Subject.PATTERN, one.reason[:_LONGEST], compilation, ""),
                places=places.of(one.blocking),
                about=f"{pattern.name} at {bare(one.node.name)}",
                others=() if pattern.place is None else (pattern.place,),
                nodes=pairs([(one.node.name, one.blocking.name)]),
            )
        )


def _nearest(matcher: Any, graph: Any, found: list[Any], name: str) -> list[Miss]:
    """What was left of a search; nothing of one in which a name stands for a match."""
    return [] if name else [*misses(matcher, graph, found)]


def _is_torchs(place: QuotedPlace | None) -> bool:
    return place is not None and place.place.path.startswith(_TORCH)


def _origin(of_torch: Callable[[Any], RawOrigin | None], node: Any) -> RawOrigin | None:
    return node._frames if isinstance(node.graph, Graph) else of_torch(node)


def _function(pattern: Any) -> Any:
    """What a pattern is written as; None for a graph."""
    if isinstance(pattern, torch.nn.Module):
        return None if hasattr(pattern, "graph") else type(pattern).forward
    return pattern
