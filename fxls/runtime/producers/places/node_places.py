"""Where the nodes of a graph are from, as the record of a run has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fxls.engine.origins.resolve import RawOrigin, resolve
from fxls.record import QuotedPlace
from fxls.record.quoted_place import Sources
from fxls.runtime.producers.places.stack_traces import origin_of

__all__ = ["NodePlaces", "bare"]

_MOST_PLACES = 16


class NodePlaces:
    """Where nodes are from; sources are read once."""

    def __init__(
        self,
        origin: Callable[[Any], RawOrigin | None] = lambda node: origin_of(node.meta),
    ) -> None:
        """`origin` gives that of a node; what a compiler made has it in its `meta`."""
        self._sources = Sources()
        self._origin = origin

    def of(self, node: Any) -> tuple[QuotedPlace, ...]:
        """Where a node is from, innermost first."""
        found = resolve(self._origin(node))
        places = () if found is None else found.places[:_MOST_PLACES]
        return tuple(map(self._sources.at, places))


def bare(name: str) -> str:
    """The name of a node, without the number by which equal ones are told apart."""
    return _NUMBER.sub("", name) or name


_NUMBER = re.compile(r"(?<=[a-z])_\d+$")
