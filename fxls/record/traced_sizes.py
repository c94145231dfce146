"""What torch's structured trace says of the sizes of one compilation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fxls.record import Guard, QuotedPlace, Remark, Subject
from fxls.record.failed_guards import size_of
from fxls.record.trace_texts import LONGEST

__all__ = ["OF_SIZES", "TracedSizes"]

_MOST = 500

OF_SIZES = (
    "create_symbol",
    "create_unbacked_symbol",
    "guard_added_fast",
    "symbolic_shape_specialization",
)
"""torch's names of the entries that are of sizes."""

Places = Callable[[Mapping[str, Any]], tuple[QuotedPlace, ...]]
"""Those of the program's stack in what an entry says, innermost first."""


@dataclass(slots=True)
class TracedSizes:
    """What a compilation found out of sizes; an attempt that begins anew finds it again."""

    _guards: dict[Guard, None] = field(default_factory=dict[Guard, None])
    _fixed: dict[Remark, None] = field(default_factory=dict[Remark, None])
    _symbols: dict[str, str] = field(default_factory=dict[str, str])
    """Where the value of a symbol comes from."""
    _unbacked: dict[str, Guard] = field(default_factory=dict[str, Guard])

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What has to hold from then on, in the order in which it was found out."""
        return tuple(self._guards)

    @property
    def unbacked(self) -> tuple[Guard, ...]:
        """Torch's names of the sizes that only a run knows, and the lines they are from."""
        return tuple(self._unbacked.values())

    def size_of(self, symbol: str) -> str:
        """The path of the size that a symbol stands for; empty where nobody said it."""
        return self._symbols.get(symbol, "")

    def take(
        self, compilation: str, kind: str, said: Mapping[str, Any], places: Places
    ) -> Remark | None:
        """Take one entry; the remark that follows from it, if it was not made yet."""
        match kind:
            case "create_symbol":
                self._name(said)
            case "create_unbacked_symbol":
                self._unback(said, places)
            case "guard_added_fast":
                self._bound(said, places)
            case _:
                return self._specialize(compilation, said, places)
        return None

    def _name(self, said: Mapping[str, Any]) -> None:
        """A symbol stands for a size from then on."""
        if len(self._symbols) < _MOST:
            self._symbols[str(said["symbol"])] = str(said["source"])

    def _unback(self, said: Mapping[str, Any], places: Places) -> None:
        """A symbol stands for a size, or a number, that only a run knows."""
        found, symbol = places(said), str(said["symbol"])
        if found and len(self._unbacked) < _MOST:
            self._unbacked[symbol] = Guard("UNBACKED", symbol, found[0])

    def _bound(self, said: Mapping[str, Any], places: Places) -> None:
        """Something was found out of sizes, and has to hold from then on."""
        if len(self._guards) < _MOST:
            found = places(said)
            text = self._with_sources(str(said["expr"]))
            self._guards[Guard("SIZE", text, found[0] if found else None)] = None

    def _specialize(
        self, compilation: str, said: Mapping[str, Any], places: Places
    ) -> Remark | None:
        """A size that could have been any has one value only from then on."""
        sources = [str(source) for source in said.get("sources") or ()]
        what = sources[0] if sources else str(said["symbol"])
        reason = f"{what} is always {said['value']}: {said.get('reason')}"[:LONGEST]
        remark = Remark(
            *(Subject.SPECIALIZED, reason, compilation, ""),
            places(said),
            about=size_of(what),
            was=str(said["value"]),
        )
        if remark in self._fixed or len(self._fixed) >= _MOST:
            return None
        self._fixed[remark] = None
        return remark

    def _with_sources(self, text: str) -> str:
        """An expression of symbols, with what they are the sizes of."""
        return _SYMBOL.sub(lambda m: self._symbols.get(m[0], m[0]), text)[:LONGEST]


_SYMBOL = re.compile(r"\b[su]\d+\b")
