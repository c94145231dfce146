"""What a hover shows: of a node, of a graph, and of what an expression became."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from fxls.counted import counted
from fxls.ide.listing.card import (
    Block,
    Card,
    Code,
    Field,
    Hover,
    Inline,
    Line,
    Link,
    Page,
    Snippet,
)
from fxls.ide.listing.defaults import given
from fxls.ide.listing.document import Document
from fxls.ide.listing.documentation import page_of
from fxls.ide.listing.graph_table import summary
from fxls.ide.listing.kernel_card import computed_by, kernel_blocks
from fxls.ide.listing.node_times import (
    TimedCode,
    by_node,
    share_text,
    timed_kernels,
    times_text,
)
from fxls.ide.listing.other_graphs import OtherGraph, other_values
from fxls.ide.listing.parent import is_made_since
from fxls.ide.listing.recorded import (
    ReadGraph,
    Recorded,
    makings,
    pass_name,
    where_of,
)
from fxls.ide.listing.submodule_calls import Part
from fxls.ide.listing.value_text import long_form
from fxls.ide.listing.wording import (
    arguments,
    clipped,
    keywords,
    node_line,
    node_link,
    place_link,
    title,
)
from fxls.ide.source.source_file import SourceFile
from fxls.ide.source.under_cursor import (
    Made,
    Stages,
    calls_at,
    listings_at,
    made_at,
    stages,
)
from fxls.listing import KERNELS, Facts, Identity, Place, Scope
from fxls.record import ON_REQUEST, OUTSIDE
from fxls.record.judged_wording import sides_text
from fxls.record.kernel_times import CALL
from fxls.record.node_errors import NodeError
from fxls.record.remark_wording import costs_of, role_of, title_of
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.text import LineTable, Point, Span

__all__ = ["Beside", "Passes", "SourceText", "hover", "remark_hover", "source_hover"]

SourceText = Callable[[str], str | None]
"""The text of a source by its path; None when it cannot be read."""

Passes = Callable[[], tuple[Recorded, ReadGraph] | None]
"""The passes that a record has of a listing, and what reads the graphs between them."""


def _no_code() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Beside:
    """The listings of a compiler's code, and of its graph, that go with a listing."""

    graph: Document | None = None
    """Of code, the last graph before it."""
    code: Callable[[], Document | None] = _no_code
    """Of a graph, the code that was written for it."""
    times: Callable[[], Sequence[TimedCode]] = tuple
    """The code of it that runs measured."""
    errors: Callable[[], Mapping[int, NodeError]] = dict
    """How far the values of its nodes are off, where somebody compared them."""
    graphs: Callable[[], Sequence[OtherGraph]] = tuple
    """What other compilations of its run knew of a graph with the same text."""


_NAMES = 24
_FRAMES = 8
_GRAPHS = 8
_SNIPPET = 6
_ON_REQUEST = 4
"""So many fusions and matches that were missed are said at one place."""
_KINDS = tuple(RemarkKind)


def hover(
    document: Document,
    point: Point,
    source: SourceText,
    parent: Document | None = None,
    passes: Passes = lambda: None,
    beside: Beside | None = None,
) -> Hover | None:
    """The card of the node under a cursor, or the table when it is on the ``def``.

    `parent` is the graph that passes made this one of, as it was captured.
    """
    touched = document.touched(point)
    if touched is not None:
        node, beside = touched.node, beside or Beside()
        card = _kernel_card(document, node, source, beside)
        card = card or _node_card(document, node, source, parent, passes, beside)
        return Hover(touched.span, card)
    definition = document.on_definition(point)
    if definition is not None:
        return Hover(definition, summary(document))
    return None


def source_hover(
    source: SourceFile, point: Point, codes: Sequence[TimedCode] = ()
) -> Hover | None:
    """What the code under a cursor became, with links and shapes.

    On an expression its nodes as they were captured, and how many it has in the other
    stages; on an entry comment and on the name of a class the listings that were made
    of it, else its calls in those of other classes.
    """
    named = listings_at(source, point)
    if named is not None:
        span, documents = named
        # Those of the text as it is say more than those of an earlier one.
        current = sorted(documents, key=lambda one: one.path in source.moves)
        card = [Line(_listing_line(one)) for one in current[:_GRAPHS]]
        if len(current) > _GRAPHS:
            more = counted(len(current) - _GRAPHS, "more listing")
            card.append(Line((f"… and {more}",)))
        return Hover(span, tuple(card))
    span, called = calls_at(source, point)
    if called:
        return Hover(
            span, tuple(block for part in called for block in _part_blocks(part))
        )
    found = made_at(source, point)
    if not found:
        return None
    graphs = stages(found)
    shown = graphs[:_GRAPHS]
    blocks = [block for graph in shown for block in _stage_blocks(graph, codes)]
    if len(graphs) > _GRAPHS:
        more = counted(len(graphs) - _GRAPHS, "more graph")
        blocks.append(Line((f"… and in {more}",)))
    if any(made.document.path in source.moves for made in found):
        blocks.append(Line(("The file was edited since this was traced.",)))
    return Hover(found[0].span, tuple(blocks))


def remark_hover(
    found: Iterable[tuple[SourceRemark, Span]], point: Point
) -> Hover | None:
    """What torch.compile could not do at the place under a cursor, of every kind."""
    touched = [(one, span) for one, span in found if span.touches(point)]
    if not touched:
        return None
    # A problem is worth more than what is said on request, of which there may be many.
    shown = sorted((one for one, _ in touched), key=lambda one: _KINDS.index(one.kind))
    often = [one for one in shown if one.subject in ON_REQUEST]
    left = often[_ON_REQUEST:]
    card = [block for one in shown if one not in left for block in _remark_blocks(one)]
    if left:
        more = counted(len(left), "more remark")
        card.append(Line((f"… and {more}: ", Code("fxls remarks --all"))))
    return Hover(touched[0][1], tuple(card))


def _remark_blocks(remark: SourceRemark) -> Iterator[Block]:
    page: tuple[Inline, ...] = ()
    if remark.page is not None:
        page = (" ", Page(remark.id, remark.page))
    yield Line((f"torch.compile: {title_of(remark)}", *page))
    for said in costs_of(remark):
        yield Field("", (said,))
    for frame in remark.frames[:_FRAMES]:
        if frame != remark.place:
            yield Field("", (f"{role_of(frame, remark)}: ", place_link(frame.place)))
    for hint in remark.hints:
        yield Field("help", (hint,))


def _node_card(
    document: Document,
    node: int,
    source: SourceText,
    parent: Document | None,
    passes: Passes,
    beside: Beside,
) -> Card:
    listing = document.listing
    facts = listing.nodes[node]
    # A hover shows few lines, and most people ask where a node comes from.
    card: list[Block] = [
        Line((Code(facts.name), ": ", *node_line(document, node))),
        *_origin(document, node, source),
    ]
    for label, said in (
        ("calls", _calls(document, facts)),
        ("args", arguments(document, facts.args)),
        ("kwargs", _keywords(document, facts)),
    ):
        if said:
            card.append(Field(label, said))
    card.append(Field("users", _users(document, facts.users)))
    scopes = listing.module_path(node)
    if scopes:
        card.append(Field("module", _modules(scopes)))
    if facts.value is not None:
        card.append(Field("value", (Code(long_form(facts.value)),)))
        for of, value in other_values(listing, node, beside.graphs()):
            card.append(Field("", (Code(long_form(value)), f", in compilation {of}")))
    if facts.type is not None:
        card.append(Field("annotation", (Code(facts.type),)))
    if facts.detail is not None:
        card.append(Field("is", (Code(clipped(facts.detail)),)))
    made = [*_makings(facts.name, passes)]
    if made:
        card += made
    elif facts.passes:
        of = f", from {', '.join(facts.made_from)}" if facts.made_from else ""
        by = ", after ".join(_OUTSIDE if p == OUTSIDE else p for p in facts.passes)
        card.append(Field("made by", (by + of,)))
    elif parent is not None and is_made_since(document, node, parent):
        name = PurePath(parent.path).name
        link = Link(name, parent.path, parent.start.focus.start)
        stage = parent.listing.identity.stage
        words = (f" ({stage})",) if stage else ()
        card.append(Field("made by", ("what ran after ", link, *words)))
    code = beside.code()
    if code is not None:
        card += computed_by(facts.name, code)
    card += _took(document, (node,), beside)
    card += _off(node, beside)
    card += _callers(document, node, source)
    return tuple(card)


def _kernel_card(
    document: Document, node: int, source: SourceText, beside: Beside
) -> Card | None:
    """The card of a node of a compiler's code."""
    card = kernel_blocks(document, node, beside.graph)
    if card is None:
        return None
    facts = document.listing.nodes[node]
    if facts.opcode != "buffer":
        calls = facts.users if facts.opcode == "kernel" else (node,)
        card += _took(document, calls, beside)
    card += _off(node, beside)
    # It may be made of many nodes, so what these are says more than one of their lines.
    card += _origin(document, node, source)
    card += _callers(document, node, source)
    return tuple(card)


def _took(document: Document, nodes: Sequence[int], beside: Beside) -> Iterator[Block]:
    """How long the kernels take that compute nodes, where a run measured them."""
    known = by_node(timed_kernels(document, beside.times()))
    kernels = [one for node in nodes for one in known.get(node, ())]
    if not kernels:
        return
    opcode = document.listing.nodes[nodes[0]].opcode
    said = share_text(kernels[0]) if opcode == CALL else times_text(kernels)
    calls = min(one.calls for one in kernels)
    mean = "mean" if len(kernels) == 1 else "means"
    yield Field("took", (f"{said}, the {mean} of {counted(calls, 'call')}",))


def _off(node: int, beside: Beside) -> Iterator[Block]:
    """How far the value of a node is off, where a comparison judged it."""
    error = beside.errors().get(node)
    if error is not None:
        said = sides_text(error.value, error.step, error.stage)
        yield Field("compared", (said,))


def _makings(name: str, passes: Passes) -> Iterator[Block]:
    """A sentence for each pass that made a node, or what that was made from."""
    known = passes()
    for made in makings(name, *known) if known else ():
        ran = made.ran
        where = ", ".join(where_of(ran))
        parts: list[Inline] = ["The pass ", Code(pass_name(ran)), " of ", where]
        if ran.name == OUTSIDE:
            parts = [f"What changed the graph outside of any pass, in {where},"]
        parts += [" made ", _named(made.node, made.after)]
        if made.made_from:
            parts.append(" in place of ")
            for number, old in enumerate(made.made_from[:_NAMES]):
                parts += [", "] if number else []
                parts.append(_named(old, made.before))
        yield Line((*parts, "."))


_OUTSIDE = "what changed the graph outside of any pass"


def _named(name: str, document: Document | None) -> Inline:
    """A node by its name, leading to where it is bound in a graph that has it."""
    for node, facts in enumerate(document.listing.nodes if document else ()):
        if facts.name == name and document is not None:
            return node_link(document, node)
    return Code(name)


def _keywords(document: Document, facts: Facts) -> tuple[Inline, ...]:
    """The keyword arguments; of those that are as by default the names alone."""
    kept, folded = given(document, facts)
    parts = [*keywords(document, kept)]
    if folded:
        parts += ["; " if parts else "", "as by default: ", Code(", ".join(folded))]
    return tuple(part for part in parts if part)


def _calls(document: Document, facts: Facts) -> tuple[Inline, ...]:
    """What the target is, and where to read of it."""
    if facts.call is None:
        return ()
    target = document.listing.targets[facts.call]
    parts: list[Inline] = [Code(clipped(f"{target.name}{target.signature}"))]
    page = page_of(target.name)
    if page is not None:
        parts += [" ", Page("documentation", page)]
    if target.file is not None:
        name = f"{PurePath(target.file).name}:{target.line + 1}"
        parts += [" ", Link(name, target.file, Point(target.line, 0))]
    return tuple(parts)


def _modules(scopes: Sequence[Scope]) -> tuple[Inline, ...]:
    """The submodules from the outside, and what the innermost is."""
    parts: list[Inline] = []
    for scope in scopes:
        parts += [" / "] if parts else []
        parts += [Code(scope.path or "(root)"), f" {scope.type.rpartition('.')[2]}"]
    inner = scopes[-1]
    if inner.parameters is not None:
        parts.append(f", {counted(inner.parameters, 'parameter')}")
    return tuple(parts)


def _origin(document: Document, node: int, source: SourceText) -> Iterator[Block]:
    """Where a node comes from: the innermost frame, with its lines."""
    for place in [*document.listing.places(document.listing.nodes[node].origin)][:1]:
        yield from _from("from ", place, source)


def _callers(document: Document, node: int, source: SourceText) -> Iterator[Block]:
    """The frames around that, the outermost with its lines, and where else a node comes
    from that was made from several.
    """
    facts = document.listing.nodes[node]
    places = [*document.listing.places(facts.origin)]
    for number, place in enumerate(places[1:_FRAMES], 2):
        shown = source if number == len(places) else None
        yield from _from("called from ", place, shown)
    if len(places) > _FRAMES:
        left = counted(len(places) - _FRAMES, "frame")
        yield Line((f"… and {left} more, up to ", place_link(places[-1])))
    chains = [[*document.listing.places(row)] for row in facts.more_origins]
    others = [*dict.fromkeys(chain[0] for chain in chains if chain)]
    for place in others[:_FRAMES]:
        yield from _from("also from ", place, source)
    if len(others) > _FRAMES:
        yield Line((f"… and {counted(len(others) - _FRAMES, 'place')} more",))


def _from(words: str, place: Place, source: SourceText | None) -> Iterator[Block]:
    """A place, with its lines where a source is given that can be read."""
    yield Line((words, place_link(place), " in ", Code(place.function)))
    text = None if source is None else source(place.path)
    snippet = _lines(text, place) if text is not None else ""
    if snippet:
        yield Snippet(snippet)


def _lines(text: str, place: Place) -> str:
    """The lines of an expression, without the indentation that they share."""
    lines = LineTable(text)
    first, last = place.span.start.line, place.span.end.line
    shown = [lines.line(line) for line in range(first, min(last + 1, first + _SNIPPET))]
    indents = [len(line) - len(line.lstrip()) for line in shown if line.strip()]
    indent = min(indents, default=0)
    kept = [line[indent:].rstrip() for line in shown]
    if last - first >= _SNIPPET:
        kept.append("...")
    return "\n".join(kept).strip("\n")


def _users(document: Document, users: Sequence[int]) -> tuple[Inline, ...]:
    parts: list[Inline] = [f"{len(users)}"]
    for number, user in enumerate(users[:_NAMES]):
        parts += [", " if number else ": ", node_link(document, user)]
    if len(users) > _NAMES:
        parts.append(f", … and {len(users) - _NAMES} more")
    return tuple(parts)


def _part_blocks(part: Part) -> Iterator[Block]:
    yield Line((f"{counted(len(part.calls), 'call')} in {title(part.document)}",))
    for path, there in part.calls[:_NAMES]:
        yield Field("", (Link(path, there.path, there.focus.start),))
    if len(part.calls) > _NAMES:
        yield Line((f"… and {len(part.calls) - _NAMES:,} more",))


def _listing_line(document: Document) -> tuple[Inline, ...]:
    start = document.start
    count = counted(len(document.listing.nodes), "node")
    link = Link("forward", start.path, start.focus.start)
    return ("generated ", link, f" of {title(document)}: {count}")


def _stage_blocks(graph: Stages, codes: Sequence[TimedCode]) -> Iterator[Block]:
    for made in graph.shown:
        yield from _made_blocks(made)
    if graph.other:
        yield Line(("In other stages:",))
    for made in graph.other[:_NAMES]:
        there = made.document.bound_at(made.nodes[0])
        stage = _stage(made.document, graph.captured)
        link = Link(stage, made.document.path, there)
        if stage.rpartition(", ")[2] == KERNELS:
            yield Field("", (link, ": ", *_kernels(made, codes)))
        else:
            yield Field("", (link, f": {counted(len(made.nodes), 'node')}"))
    if len(graph.other) > _NAMES:
        yield Line((f"… and {len(graph.other) - _NAMES:,} more",))


def _kernels(made: Made, codes: Sequence[TimedCode]) -> Iterator[Inline]:
    """The calls of kernels that compute an expression, and how long each takes."""
    own = [one for one in codes if one.document.path == made.document.path]
    times = by_node(timed_kernels(made.document, own))
    for number, node in enumerate(made.nodes[:_NAMES]):
        yield from (", ",) if number else ()
        yield node_link(made.document, node)
        if node in times:
            yield f" ({share_text(times[node][0])})"
    if len(made.nodes) > _NAMES:
        yield f", … and {len(made.nodes) - _NAMES:,} more"


def _stage(document: Document, captured: Identity) -> str:
    """``joint``: what the stage of a graph adds to that of the captured one."""
    stage = document.listing.identity.stage
    before = f"{captured.stage}, " if captured.stage else ""
    return stage.removeprefix(before) or title(document)


def _made_blocks(made: Made) -> Iterator[Block]:
    yield Line((f"{counted(len(made.nodes), 'node')} of {title(made.document)}",))
    for node in made.nodes[:_NAMES]:
        link = node_link(made.document, node)
        yield Field("", (link, ": ", *node_line(made.document, node)))
    if len(made.nodes) > _NAMES:
        yield Line((f"… and {len(made.nodes) - _NAMES:,} more",))
