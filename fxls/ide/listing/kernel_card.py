"""What a hover says of a kernel, of a call of one, and of a buffer; and of a node by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fxls.counted import counted
from fxls.ide.listing.card import Block, Code, Field, Inline, Line
from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import short_form
from fxls.ide.listing.wording import arguments, node_link
from fxls.listing import Facts, Items, Tensor

__all__ = ["computed_by", "kernel_blocks"]

_MOST = 24

_LANGUAGES = {"async_compile.cpp_pybinding": "C++", "async_compile.triton": "Triton"}

_NONE = {
    "view": "none, because it is a view",
    "part": "none, because it is a part of what another node gives",
    "size": "none, because it is a size",
    "constant": "none, because it is a constant",
}


def kernel_blocks(
    document: Document, node: int, graph: Document | None
) -> list[Block] | None:
    """The first blocks of the card of a node of code; None for a node of a graph."""
    facts = document.listing.nodes[node]
    match facts.opcode:
        case "kernel":
            return [*_of_kernel(document, node, graph)]
        case "call_kernel":
            return [*_of_call(document, facts, graph)]
        case "buffer":
            return [*_of_buffer(document, node, graph)]
        case _:
            return None


def computed_by(name: str, code: Document) -> Iterator[Block]:
    """The calls of kernels that compute a node of the graph before, or why none does."""
    nodes = code.listing.nodes
    found = [
        at
        for at, facts in enumerate(nodes)
        if facts.opcode == "call_kernel" and name in facts.made_from
    ]
    if found:
        what = "kernel" if len(found) == 1 else "kernels"
        yield Field(what, (*_joined(node_link(code, at) for at in found),))
    for other, kind in code.listing.without_kernel:
        if other == name and kind in _NONE:
            yield Field("kernel", (_NONE[kind],))


def _of_kernel(
    document: Document, node: int, graph: Document | None
) -> Iterator[Block]:
    facts = document.listing.nodes[node]
    language = _LANGUAGES.get(facts.target, facts.target)
    calls = counted(len(facts.users), "call")
    yield Line((Code(facts.name), f": kernel in {language}, {calls}"))
    for user in facts.users[:_MOST]:
        yield Field("called", (node_link(document, user),))
    if facts.made_from:  # a log does not say it
        yield Field("computes", _computes(facts, graph))


def _of_call(
    document: Document, facts: Facts, graph: Document | None
) -> Iterator[Block]:
    inputs = facts.args
    called: Inline = Code(facts.target)
    match inputs:
        case ((int(kernel),), *rest) if (
            document.listing.nodes[kernel].opcode == "kernel"
        ):
            called, inputs = node_link(document, kernel), tuple(rest)
        case _:
            pass
    yield Line((Code(facts.name), ": call of ", called))
    if facts.made_from:  # a log does not say it
        yield Field("computes", _computes(facts, graph))
    reads = {one for pieces in inputs for one in pieces if isinstance(one, int)}
    size = _bytes(document, reads)
    yield Field("inputs", (*arguments(document, inputs), *size))
    outputs = [one for _, pieces in facts.kwargs for one in pieces]
    written = [one for one in outputs if isinstance(one, int)]
    shown = [part for one in written for part in (", ", *_shown(document, one))][1:]
    yield Field("outputs", (*shown, *_bytes(document, written)))


def _of_buffer(
    document: Document, node: int, graph: Document | None
) -> Iterator[Block]:
    facts = document.listing.nodes[node]
    value = (" → ", Code(short_form(facts.value))) if facts.value is not None else ()
    yield Line((Code(facts.name), ": buffer", *value))
    if facts.made_from:
        yield Field("holds", _computes(facts, graph))
    if facts.args:
        yield Field(
            "made by", (Code(facts.target), " ", *arguments(document, facts.args))
        )
    writers = (
        at
        for at, other in enumerate(document.listing.nodes)
        if any(node in pieces for _, pieces in other.kwargs)
    )
    links = [*_joined(node_link(document, at) for at in writers)]
    if links:
        yield Field("written by", tuple(links))
    readers = [one for one in facts.users if _is_call(document, one)]
    if readers:
        found = _joined(node_link(document, one) for one in readers[:_MOST])
        yield Field("read by", (*found,))


def _computes(facts: Facts, graph: Document | None) -> tuple[Inline, ...]:
    """The nodes of the graph before, with links where that is known."""
    known = (
        {}
        if graph is None
        else {f.name: at for at, f in enumerate(graph.listing.nodes)}
    )
    names: Sequence[str] = facts.made_from[:_MOST]
    shown = _joined(
        node_link(graph, known[name]) if graph and name in known else Code(name)
        for name in names
    )
    left = len(facts.made_from) - len(names)
    return (*shown, *((f", … and {left:,} more",) if left else ()))


def _shown(document: Document, node: int) -> Iterator[Inline]:
    facts = document.listing.nodes[node]
    yield node_link(document, node)
    if facts.value is not None:
        yield " → "
        yield Code(short_form(facts.value))


def _bytes(document: Document, nodes: Iterable[int]) -> tuple[Inline, ...]:
    """How many bytes tensors have, where that is known of all."""
    sizes = [
        size
        for node in dict.fromkeys(nodes)
        for size in _sizes(document.listing.nodes[node])
    ]
    known = [size for size in sizes if size is not None]
    return (f", {counted(sum(known), 'byte')}",) if known and known == sizes else ()


def _sizes(facts: Facts) -> Iterator[int | None]:
    match facts.value:
        case Tensor(bytes=size):
            yield size
        case Items() | None:
            yield None
        case _:
            pass


def _is_call(document: Document, node: int) -> bool:
    return document.listing.nodes[node].opcode == "call_kernel"


def _joined(parts: Iterable[Inline]) -> Iterator[Inline]:
    for number, part in enumerate(parts):
        if number:
            yield ", "
        yield part
