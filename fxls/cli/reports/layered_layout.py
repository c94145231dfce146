"""Where the boxes of a graph stand: in layers, each below all that it reads.

Boxes are numbered so that each reads earlier ones alone. A line that passes layers has a
bend in each of them, which is placed as boxes are; lines of one box share their bends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Layout", "layered"]

_HEIGHT = 38.0
_BETWEEN_LAYERS = 30.0
_BETWEEN_BOXES = 18.0
_BETWEEN_LINES = 10.0
_SWEEPS = 4
"""So often the layers are ordered, and then placed, by those above and below."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Of each box its left upper corner, and of each line its corners."""

    width: float
    height: float
    boxes: tuple[tuple[float, float], ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(slots=True)
class _Cell:
    """A box, or the bend of a line."""

    layer: int
    width: float
    above: list[int] = field(default_factory=list[int])
    below: list[int] = field(default_factory=list[int])
    center: float = 0.0
    is_bend: bool = False


def layered(widths: Sequence[float], reads: Sequence[Iterable[int]]) -> Layout:
    """Place boxes of these widths, each of which reads some of those before it."""
    cells, drawn = _cells(widths, [sorted({*one}) for one in reads])
    layers: list[list[int]] = [
        [] for _ in range(1 + max((cell.layer for cell in cells), default=0))
    ]
    for at, cell in enumerate(cells):
        layers[cell.layer].append(at)
    _order(cells, layers)
    _place(cells, layers)
    left = min((cell.center - cell.width / 2 for cell in cells), default=0.0)
    width = max((cell.center - left + cell.width / 2 for cell in cells), default=0.0)
    step = _HEIGHT + _BETWEEN_LAYERS

    def corners(way: tuple[int, ...]) -> Iterable[tuple[float, float]]:
        for at in way:
            cell = cells[at]
            x, top = cell.center - left, cell.layer * step
            if cell.is_bend:
                yield x, top
                yield x, top + _HEIGHT
            else:
                yield x, top + _HEIGHT if at == way[0] else top

    return Layout(
        width,
        len(layers) * step - _BETWEEN_LAYERS,
        tuple(
            (cell.center - left - cell.width / 2, cell.layer * step)
            for cell in cells[: len(widths)]
        ),
        tuple(tuple(corners(way)) for way in drawn),
    )


def _cells(
    widths: Sequence[float], reads: Sequence[Sequence[int]]
) -> tuple[list[_Cell], list[tuple[int, ...]]]:
    """Boxes first, then bends; and each line by the cells that it leads through."""
    cells = [_Cell(layer, widths[at]) for at, layer in enumerate(_layers(reads))]
    drawn: list[tuple[int, ...]] = []
    bends: list[list[int]] = [[] for _ in widths]
    for box, read in ((box, one) for box, of in enumerate(reads) for one in of):
        way = bends[read]
        for layer in range(cells[read].layer + 1 + len(way), cells[box].layer):
            above = way[-1] if way else read
            cells[above].below.append(len(cells))
            way.append(len(cells))
            cells.append(_Cell(layer, _BETWEEN_LINES, [above], is_bend=True))
        passed = way[: cells[box].layer - cells[read].layer - 1]
        last = passed[-1] if passed else read
        cells[last].below.append(box)
        cells[box].above.append(last)
        drawn.append((read, *passed, box))
    return cells, drawn


def _layers(reads: Sequence[Sequence[int]]) -> list[int]:
    """A layer for each box: as high as can be, and what reads nothing as low as can be."""
    layers: list[int] = []
    users: list[list[int]] = [[] for _ in reads]
    for box, of in enumerate(reads):
        layers.append(1 + max((layers[one] for one in of), default=-1))
        for one in of:
            users[one].append(box)
    for box, of in enumerate(reads):
        if not of and users[box]:
            layers[box] = min(layers[one] for one in users[box]) - 1
    lowest = min(layers, default=0)
    return [layer - lowest for layer in layers]


def _order(cells: list[_Cell], layers: list[list[int]]) -> None:
    """Order each layer so that lines cross little: by the mean place of its neighbours."""
    place = [0.0] * len(cells)

    def number(layer: list[int]) -> None:
        for index, at in enumerate(layer):
            place[at] = index / max(len(layer) - 1, 1)

    def mean(at: int, neighbours: list[int]) -> float:
        if not neighbours:
            return place[at]
        return sum(place[one] for one in neighbours) / len(neighbours)

    for layer in layers:
        number(layer)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        for layer in layers if is_down else reversed(layers):
            layer.sort(
                key=lambda at: mean(at, cells[at].above if is_down else cells[at].below)
            )
            number(layer)


def _place(cells: list[_Cell], layers: list[list[int]]) -> None:
    """Give each cell its center: near those of its neighbours, without touching others."""
    for layer in layers:
        _settle(cells, layer, [0.0] * len(layer))
    for sweep in range(2 * _SWEEPS):
        is_down = sweep % 2 == 0
        for layer in layers if is_down else reversed(layers):
            wanted: list[float] = []
            for at in layer:
                near = cells[at].above if is_down else cells[at].below
                centers = [cells[one].center for one in near]
                middle = sum(centers) / len(centers) if centers else cells[at].center
                wanted.append(middle)
            _settle(cells, layer, wanted)


def _settle(cells: list[_Cell], layer: list[int], wanted: list[float]) -> None:
    """The centers that are nearest to those that are wanted, by the sum of squares.

    Neighbours that want to overlap are put together in a block, which stands where the
    mean of its cells wants it.
    """
    offsets = [0.0] if layer else []
    for one, other in pairwise(layer):
        is_line = cells[one].is_bend or cells[other].is_bend
        gap = _BETWEEN_LINES if is_line else _BETWEEN_BOXES
        offsets.append(offsets[-1] + (cells[one].width + cells[other].width) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other, more = blocks.pop()
            mean = (mean * count + other * more) / (count + more)
            count += more
        blocks.append((mean, count))
    centers = (mean for mean, count in blocks for _ in range(count))
    for at, center, offset in zip(layer, centers, offsets, strict=True):
        cells[at].center = center + offset
