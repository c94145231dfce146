"""What torch's structured trace says of one call of torch.export.

torch.export has no compilation: its entries have no name of torch's, and those that are
of sizes say where Python is, in torch's own files as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from fxls.record import Event, Guard, Guards, QuotedPlace, Remark, Subject
from fxls.record.quoted_place import Columns, Sources, of_program
from fxls.record.trace_texts import LONGEST
from fxls.record.traced_sizes import OF_SIZES, TracedSizes
from fxls.repairs import Check

__all__ = ["ExportTrace", "Frame"]

_MOST_PLACES = 16


class Frame(NamedTuple):
    """A line of a file, from one, that leads to what is exported."""

    path: str
    line: int
    function: str
    columns: Columns | None = None


class ExportTrace:
    """Makes events of the entries of one call of torch.export."""

    def __init__(
        self,
        name: str,
        function: Frame | None,
        note: Callable[[Event], None],
        text: Callable[[int], str],
        installed: tuple[str, ...],
    ) -> None:
        """`function` is what is exported, at its first line; `text` has the texts that
        entries name by a number, and `installed` are folders whose frames are no
        program's.
        """
        self._name = name
        self._note = note
        self._text = text
        self._installed = installed
        self._sources = Sources()
        self._function = function
        self._sizes = TracedSizes()
        self._fixed: list[Remark] = []

    def take(self, table: Mapping[str, Any]) -> bool:
        """Take one entry; whether it is of sizes."""
        for kind in OF_SIZES:
            if kind in table:
                remark = self._sizes.take(self._name, kind, table[kind], self._places)
                if remark is not None:
                    self._fixed.append(remark)
                    self._note(remark)
                return True
        return False

    def size_of(self, symbol: str) -> str:
        """The path of the size of an input that a symbol stands for, or nothing."""
        return self._sizes.size_of(symbol)

    def end(self, conditions: Sequence[str]) -> None:
        """Note what was found out; `conditions` are those that sizes have to keep."""
        asked = self._sizes.guards
        kept = (*(Guard("SHAPE_ENV", text[:LONGEST]) for text in conditions), *asked)
        at = self._function
        if at is not None and (kept or self._sizes.unbacked):
            place = self._sources.quoted(*at)
            of_data = self._sizes.unbacked
            self._note(Guards(self._name, len(kept), kept, of_data, place))

    def fail(
        self,
        reason: str,
        frames: Sequence[Frame],
        hints: tuple[str, ...] = (),
        check: Check | None = None,
    ) -> None:
        """Note why there is no program: at the innermost of `frames`, or else at the
        line that made a size a constant; `check` says what would tell torch of a value.
        """
        rows = (frame for frame in frames if self._is_programs(frame.path))
        places = tuple(self._sources.quoted(*row) for row in rows)[:_MOST_PLACES]
        if not places and self._fixed:
            places = self._fixed[-1].places
        if not places and self._function is not None:
            places = (self._sources.head_of(self._sources.quoted(*self._function)),)
        of_data = (
            f"{one.text} is from line {one.place.place.span.start.line + 1} of"
            f" {PurePath(one.place.place.path).name}: {one.place.line.strip()}"
            for one in self._sizes.unbacked
            if one.place is not None and re.search(rf"\b{one.text}\b", reason)
        )
        said = (*of_data, *hints)
        remark = Remark(Subject.ERROR, reason, None, "", places, said, check=check)
        self._note(remark)

    def _places(self, said: Mapping[str, Any]) -> tuple[QuotedPlace, ...]:
        rows = (
            (path, row["line"], row["name"])
            for row in reversed(said.get("user_stack") or said.get("stack") or ())
            if self._is_programs(path := self._text(row["filename"]))
        )
        own = itertools.islice(of_program(rows), _MOST_PLACES)
        return tuple(self._sources.quoted(*row) for row in own)

    def _is_programs(self, path: str) -> bool:
        return bool(path) and not path.startswith(("<", *self._installed))
