"""How long the lines of a source take, as far as runs measured the kernels that compute
what stands there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from fxls.counted import counted
from fxls.ide.listing.node_times import TimedCode, milliseconds
from fxls.ide.source.source_file import SourceFile

__all__ = ["LineTime", "line_times"]

_Line = tuple[str, int]
"""A file, and a line of it as it was when the program ran."""


@dataclass(slots=True)
class LineTime:
    """The kernels of a line: those of it alone, and those that compute others as well."""

    own: list[float] = field(default_factory=list[float])
    shared: list[float] = field(default_factory=list[float])
    others: dict[str, None] = field(default_factory=dict[str, None])
    """The lines that it shares kernels with, as people call them."""

    def text(self) -> str:
        """In a few words; nobody knows what each line of a shared kernel takes."""
        said: list[str] = []
        if self.own:
            said.append(_in_kernels(self.own))
        if self.shared:
            others = [*self.others]
            who = others[0] if len(others) == 1 else f"{len(others)} lines"
            said.append(f"{_in_kernels(self.shared)} shared with {who}")
        return "; ".join(said)


def line_times(
    source: SourceFile, codes: Iterable[TimedCode]
) -> Mapping[int, LineTime]:
    """By the line as it is today, what one call of each code spends on it."""
    found: dict[int, LineTime] = defaultdict(LineTime)
    here = {source.path, *source.paths}
    for code in codes:
        moves = source.moves.get(code.document.path)
        for node, seconds in code.times.kernels.items():
            lines: dict[_Line, int | None] = {}
            for origin in code.document.listing.origins(node):
                place = origin.places[0]
                now = place.span
                if place.path in here and moves is not None:
                    now = moves.after(place.span)
                key = (place.path, place.span.start.line)
                lines[key] = None if now is None else now.start.line
            for (path, _), now in lines.items():
                if path not in here or now is None:
                    continue
                others = [one for one in lines.items() if one[0] != (path, _)]
                line = found[now]
                (line.shared if others else line.own).append(seconds)
                line.others |= dict.fromkeys(_named(*one, here) for one in others)
    return found


def _named(at: _Line, now: int | None, here: set[str]) -> str:
    path, line = at
    if path not in here:
        return f"{PurePath(path).name}:{line + 1}"
    return "a line that was edited" if now is None else f"line {now + 1}"


def _in_kernels(seconds: list[float]) -> str:
    return f"{milliseconds(sum(seconds))} in {counted(len(seconds), 'kernel')}"
