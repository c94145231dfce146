"""The picture of a graph for a page: boxes and lines as the editor draws them, in SVG.

A box leads to the line of its node. Where nodes are too many, submodules stay closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fxls.cli.reports.layered_layout import layered
from fxls.counted import counted
from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.listing.value_text import short_form

__all__ = ["MOST", "STYLE", "picture"]

MOST = 400
"""So many boxes are drawn: more cannot be read, and take long to place."""
_MOST_LINES = 2_000
_WIDEST = 34
"""So many characters stand in a box."""
_OF_CHARACTER = 7.2
_MARGIN = 12
_ARROW = 6

_KINDS = (
    *("call_function", "placeholder", "call_module"),
    *("get_attr", "call_method", "output"),
)
"""The opcodes in the order of their colours, which are the editor's."""

STYLE = """
.picture { overflow: auto; max-height: 80vh; }
.picture rect { fill: #f5f5f5; stroke: #888; }
.picture .k0 { stroke: #1a85ff; } .picture .k1 { stroke: #388a34; }
.picture .k2 { stroke: #d18616; } .picture .k3 { stroke: #652d90; }
.picture .k4 { stroke: #bf8803; } .picture .k5 { stroke: #e51400; }
.picture rect { fill-opacity: .14; stroke-width: 1.5; }
.picture .k0 { fill: #1a85ff; } .picture .k1 { fill: #388a34; }
.picture .k2 { fill: #d18616; } .picture .k3 { fill: #652d90; }
.picture .k4 { fill: #bf8803; } .picture .k5 { fill: #e51400; }
.picture path { fill: none; stroke: #888; }
.picture text { font: 600 12px system-ui, sans-serif; fill: currentColor; }
.picture text + text { font: 11px system-ui, sans-serif; opacity: .75; }
.picture a:focus rect, .picture a:hover rect { stroke-width: 3; }
"""


@dataclass(frozen=True, slots=True)
class _Box:
    """A node, or a submodule that is closed."""

    first: int
    last: int
    title: str
    detail: str
    kind: str
    line: int


def picture(
    document: Document, anchor: str, say: Callable[[str], str]
) -> tuple[str | None, str]:
    """The picture of a graph, and what is said of it; None for one that has none.

    `anchor` begins the fragments of its lines, and all that the graph says passes `say`.
    """
    boxes = _boxes(document)
    if len(boxes) > MOST:
        return None, (
            f"There is no picture: a page draws {MOST} boxes, and this graph has"
            f" {len(boxes):,} side by side. The editor draws it."
        )
    reads = _reads(document, boxes)
    if sum(map(len, reads)) > _MOST_LINES:
        return None, (
            f"There is no picture: a page draws {_MOST_LINES:,} lines between boxes, and"
            " this graph has more. The editor draws it."
        )
    closed = sum(box.first != box.last for box in boxes)
    said = "Picture"
    if closed:
        said += f", with {counted(closed, 'submodule')} closed"
    return "".join(_drawn(boxes, reads, anchor, say)), said


def _boxes(document: Document) -> list[_Box]:
    """All nodes; the submodules that have no room, the inner ones first, as one box."""
    members = document.groups.members
    while True:
        room = MOST - len(members)
        opened: list[Group | int] = []
        for member in members:
            if isinstance(member, int):
                opened.append(member)
            elif len(member.members) - 1 <= room:
                room -= len(member.members) - 1
                opened += member.members
            else:
                opened.append(member)
        if opened == members:
            break
        members = opened
    return [
        _node(document, one)
        if isinstance(one, int)
        else _node(document, one.first)
        if one.first == one.last
        else _submodule(document, one)
        for one in members
    ]


def _node(document: Document, node: int) -> _Box:
    facts = document.listing.nodes[node]
    known = facts.value is not None and short_form(facts.value)
    detail = known or facts.target.rpartition(".")[2]
    return _Box(node, node, facts.name, detail, facts.opcode, facts.line)


def _submodule(document: Document, group: Group) -> _Box:
    assert group.scope is not None, "only the root has none"
    scope = document.listing.scopes[group.scope]
    kind = scope.type.rpartition(".")[2]
    nodes = counted(group.last - group.first + 1, "node")
    line = document.listing.nodes[group.first].line
    detail = " · ".join(filter(None, (kind, nodes)))
    return _Box(group.first, group.last, scope.path, detail, "", line)


def _reads(document: Document, boxes: list[_Box]) -> list[set[int]]:
    """For each box, the earlier ones that it reads."""
    within = {
        node: at
        for at, box in enumerate(boxes)
        for node in range(box.first, box.last + 1)
    }
    found: list[set[int]] = []
    for at, box in enumerate(boxes):
        nodes = range(box.first, box.last + 1)
        read = {within[one] for node in nodes for one in document.read_by(node)}
        found.append({one for one in read if one < at})
    return found


def _drawn(
    boxes: list[_Box], reads: list[set[int]], anchor: str, say: Callable[[str], str]
) -> Iterator[str]:
    texts = [(_cut(box.title), _cut(box.detail)) for box in boxes]
    widths = [_width(max(map(len, pair))) for pair in texts]
    layout = layered(widths, reads)
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    yield (
        f'<div class="picture"><svg width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="-{_MARGIN} -{_MARGIN} {width:.0f} {height:.0f}">'
    )
    ways = "".join(_way(line) for line in layout.lines)
    if ways:
        yield f'<path d="{ways}"/>'
    for box, pair, (x, y), wide in zip(boxes, texts, layout.boxes, widths, strict=True):
        kind = f' class="k{_KINDS.index(box.kind)}"' if box.kind in _KINDS else ""
        written = "".join(
            f'<text x="{x + 12:.0f}" y="{y + down:.0f}">{say(text)}</text>'
            for text, down in zip(pair, (16, 31), strict=True)
            if text
        )
        yield (
            f'<a href="#{anchor}-{box.line + 1}"><rect{kind} x="{x:.0f}" y="{y:.0f}"'
            f' width="{wide:.0f}" height="38" rx="5"/>{written}</a>'
        )
    yield "</svg></div>"


def _way(corners: tuple[tuple[float, float], ...]) -> str:
    (x0, y0), (x, y) = corners[-2:]
    length = math.hypot(x - x0, y - y0) or 1.0
    across, down = (x - x0) / length * _ARROW, (y - y0) / length * _ARROW
    head = (
        (x - across - down / 2, y - down + across / 2),
        (x, y),
        (x - across + down / 2, y - down - across / 2),
    )
    return _path(corners) + _path(head)


def _path(corners: tuple[tuple[float, float], ...]) -> str:
    return "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in corners)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _width(characters: int) -> float:
    return 24 * math.ceil((characters * _OF_CHARACTER + 24) / 24)
