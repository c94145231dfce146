"""What a partition makes of a joint graph: what it saves, what it computes twice, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fxls.runtime.listings.head import Words

__all__ = ["PARTITION", "Partition", "partition", "reasons_in"]

PARTITION = "partition"
"""The name of the pass."""

_NAMES = 12
"""So many nodes of each kind a head names."""


@dataclass(frozen=True, slots=True)
class Partition:
    """What one half of a graph has of the other; nodes by their names, in order."""

    saved: tuple[str, ...]
    """What the forward computes, or is given, and the backward is given."""
    recomputed: tuple[str, ...]
    """What both compute."""
    reasons: tuple[tuple[str, str], ...]
    """Of these, the ones of which torch says why."""

    def lines(self) -> tuple[Words, ...]:
        """What the head of a half says."""
        why = dict(self.reasons)

        def listed(names: tuple[str, ...]) -> str:
            said = [f"{one} ({why[one]})" if one in why else one for one in names]
            more = len(said) - _NAMES
            shown = ", ".join(said[:_NAMES])
            return f"{shown} and {more:,} more" if more > 0 else shown

        both = (
            ("Saved for the backward", self.saved),
            ("Recomputed in the backward", self.recomputed),
        )
        return tuple((f"{word}: {listed(names)}.",) for word, names in both if names)


def partition(
    joint: Any, forward: Any, backward: Any, reasons: Mapping[str, str]
) -> Partition:
    """How a joint graph was divided; `reasons` as `reasons_in` gives them."""
    first = {node.name: node for node in forward.graph.nodes}
    saved: list[str] = []
    recomputed: list[str] = []
    for node in backward.graph.nodes:
        other = first.get(node.name)
        if other is not None and node.op == "placeholder":
            saved.append(node.name)
        elif other is not None and node.op == other.op and node.op.startswith("call_"):
            recomputed.append(node.name)
    why = dict(_policies(joint)) | dict(reasons)
    both = (*saved, *recomputed)
    return Partition(
        tuple(saved),
        tuple(recomputed),
        tuple((name, why[name]) for name in both if name in why),
    )


def reasons_in(cut: Any) -> dict[str, str]:
    """Why nodes are not recomputed, or not saved, in the graph whose cut torch looks for.

    An edge from the source to a node means that the node is not recomputed; one to the
    sink, or between the two sides of a node, that it is not saved.
    """
    found: dict[str, str] = {}
    for start, end, facts in cut.edges(data=True):
        reason = facts.get("reason")
        if not reason or not _is_of_one_node(start, end):
            continue
        name = end if start == "source" else start
        found.setdefault(name.removesuffix("_in"), str(reason))
    return found


def _is_of_one_node(start: str, end: str) -> bool:
    return (
        start == "source"
        or (end == "sink" and start.endswith("_in"))
        or start.removesuffix("_in") == end.removesuffix("_out")
    )


def _policies(joint: Any) -> Iterator[tuple[str, str]]:
    """What checkpointing asked for."""
    for node in joint.graph.nodes:
        name = getattr(node.meta.get("recompute"), "name", None)
        if name in ("MUST_SAVE", "MUST_RECOMPUTE"):
            yield node.name, name
