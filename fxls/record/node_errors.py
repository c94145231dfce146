"""How far the values of nodes are off, as far as `fxls compare` judged them.

What was judged is the value of a node in one graph, behind one step of the compiler. In
other graphs that come before and after it, it is of the nodes that are the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from fxls.listing import KERNELS, Identity, Listing
from fxls.record import Judged, JudgedValue
from fxls.record.judged_wording import judged_text
from fxls.record.kernel_times import CALL

__all__ = ["JudgedGraph", "NodeError", "captured", "error_text", "node_errors"]


@dataclass(frozen=True, slots=True)
class JudgedGraph:
    """A graph, and what was judged of it."""

    listing: Listing
    judged: Judged


@dataclass(frozen=True, slots=True)
class NodeError:
    """How far a value is off that a node has, or its expression comes to."""

    value: JudgedValue
    step: str
    """What made the value."""
    stage: str
    """The graph in which it was judged."""


def node_errors(
    text: str,
    listing: Listing,
    graphs: Iterable[JudgedGraph],
    *,
    with_buffers: bool = False,
) -> Mapping[int, NodeError]:
    """By node of a listing, the value of it that is furthest off.

    The graphs are of the same store, in which `text` is the name of the listing's. In
    the code of a compiler the calls have it, `with_buffers` what they write to as well.
    """
    opcodes = (CALL, "buffer") if with_buffers else (CALL,)
    found: dict[int, NodeError] = {}
    for graph in graphs:
        nodes_of = _nodes_of(text, listing, graph, opcodes)
        if nodes_of is None:
            continue
        stage = graph.listing.identity.stage
        for value in graph.judged.values:
            error = NodeError(value, graph.judged.step, stage)
            for node in nodes_of(value.node):
                before = found.get(node)
                if before is None or value.share > before.value.share:
                    found[node] = error
    return found


def captured(identity: Identity) -> Identity:
    """That of the captured graph, of which all others are stages."""
    return structs.replace(identity, stage=identity.graph)


def error_text(error: NodeError) -> str:
    """In a few words, and who made the value."""
    return judged_text(error.value, error.step, error.stage)


_LAST = "post-grad"
_CAPTURED = ("", "pre-grad")
"""The stages of graphs that have no nodes of aten yet."""
_HALVES = {"forward", "backward"}

_NodesOf = Callable[[str], Sequence[int]]


def _nodes_of(
    text: str, listing: Listing, graph: JudgedGraph, opcodes: Sequence[str]
) -> _NodesOf | None:
    """What gives, for a node of a graph that was judged, the nodes of a listing that have
    its value; None for a listing of something else.
    """
    judged = graph.listing
    names, there = _names(listing), _names(judged)
    if text == graph.judged.revision.text:
        return lambda name: names.get(name, ())
    if text not in graph.judged.listings:
        return None
    stages, others = _stages(listing), _stages(judged)
    if stages[-1] == KERNELS:
        is_of = others == (*stages[:-1], _LAST)
        return _computed(listing, opcodes) if is_of else None
    if stages[-1] in _CAPTURED:
        return _by_expression(listing, judged, there)
    if others[-1] in _CAPTURED or {*stages, *others} >= _HALVES:
        return None

    def same(name: str) -> Sequence[int]:
        return [
            node
            for node in names.get(name, ())
            for other in there.get(name, ())
            if _is_same(listing, node, judged, other)
        ]

    return same


def _is_same(listing: Listing, node: int, judged: Listing, other: int) -> bool:
    """Whether two nodes of a name are one, which no pass made anew or altered."""
    one, two = listing.nodes[node], judged.nodes[other]
    return (
        (one.opcode, one.target) == (two.opcode, two.target)
        and [*_chains(listing, node)] == [*_chains(judged, other)]
        and _written(listing, node) == _written(judged, other)
    )


def _written(listing: Listing, node: int) -> object:
    """The arguments of a node, with the names of nodes in them."""
    facts = listing.nodes[node]

    def text(pieces: Iterable[int | str]) -> str:
        return "".join(
            listing.nodes[one].name if isinstance(one, int) else one for one in pieces
        )

    return [*map(text, facts.args)], [(key, text(one)) for key, one in facts.kwargs]


def _computed(code: Listing, opcodes: Sequence[str]) -> _NodesOf:
    """What computes, or holds, a node's value in code, by the names of the nodes."""
    found: dict[str, list[int]] = {}
    for node, facts in enumerate(code.nodes):
        if facts.opcode in opcodes:
            for name in facts.made_from:
                found.setdefault(name, []).append(node)
    return lambda name: found.get(name, ())


def _by_expression(
    listing: Listing, judged: Listing, there: Mapping[str, Sequence[int]]
) -> _NodesOf:
    """By the chain of calls that made a node, which passes keep and names do not."""
    made: dict[object, list[int]] = {}
    for node, facts in enumerate(listing.nodes):
        if facts.opcode not in ("placeholder", "get_attr", "output"):
            for chain in _chains(listing, node):
                made.setdefault(chain, []).append(node)

    def by_chain(name: str) -> Sequence[int]:
        chains = [
            chain for one in there.get(name, ()) for chain in _chains(judged, one)
        ]
        # A node that several expressions were made into is the value of none of them.
        return made.get(chains[0], ()) if len({*chains}) == 1 else ()

    return by_chain


def _names(listing: Listing) -> Mapping[str, Sequence[int]]:
    return {facts.name: (at,) for at, facts in enumerate(listing.nodes)}


def _chains(listing: Listing, node: int) -> Iterator[object]:
    return (origin.places for origin in listing.origins(node))


def _stages(listing: Listing) -> tuple[str, ...]:
    """What the stage adds to that of the captured graph; for that itself an empty word."""
    return listing.identity.steps or ("",)
