"""How long the lines of a source take, as far as runs measured the kernels that compute
what stands there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from msgspec.structs import replace

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
    chosen: dict[str, None] = field(default_factory=dict[str, None])
    """Of graphs that were compiled several times, the compilations whose kernels these are."""

    def text(self) -> str:
        """In a few words; nobody knows what each line of a shared kernel takes."""
        said: list[str] = []
        if self.own:
            said.append(_in_kernels(self.own))
        if self.shared:
            others = [*self.others]
            who = others[0] if len(others) == 1 else f"{len(others)} lines"
            said.append(f"{_in_kernels(self.shared)} shared with {who}")
        of = f", in {' and '.join(self.chosen)}" if self.chosen else ""
        return "; ".join(said) + of


def line_times(
    source: SourceFile, codes: Iterable[TimedCode]
) -> Mapping[int, LineTime]:
    """By the line as it is today, what one call of each code spends on it.

    Of a graph that was compiled several times a call runs one of the codes: the one that
    was measured most often counts.
    """
    found: dict[int, LineTime] = defaultdict(LineTime)
    here = {source.path, *source.paths}
    for code, compilation in _chosen(codes):
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
                line.chosen |= dict.fromkeys(compilation)
                (line.shared if others else line.own).append(seconds)
                line.others |= dict.fromkeys(_named(*one, here) for one in others)
    return found


def _chosen(codes: Iterable[TimedCode]) -> Iterator[tuple[TimedCode, tuple[str, ...]]]:
    """Of each code the compilation that was measured most often, with what it is called
    where there are others.
    """
    found: dict[object, list[TimedCode]] = defaultdict(list)
    for code in codes:
        identity = code.document.listing.identity
        graph = identity.graph.partition(", ")[0]
        found[replace(identity, stage=graph), identity.steps].append(code)
    for several in found.values():
        code = max(several, key=lambda one: one.times.calls)
        graph = code.document.listing.identity.graph
        name = graph.partition(", ")[2] or "compilation 0"
        said = f"{name}, the most used of {len(several)}"
        yield code, (said,) if len(several) > 1 else ()


def _named(at: _Line, now: int | None, here: set[str]) -> str:
    path, line = at
    if path not in here:
        return f"{PurePath(path).name}:{line + 1}"
    return "a line that was edited" if now is None else f"line {now + 1}"


def _in_kernels(seconds: list[float]) -> str:
    return f"{milliseconds(sum(seconds))} in {counted(len(seconds), 'kernel')}"
