"""What is known of the nodes of a listing in other compilations of the same text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fxls.listing import Listing, Value

__all__ = ["OtherGraph", "other_values"]


@dataclass(frozen=True, slots=True)
class OtherGraph:
    """A graph with the text of a listing, and with other facts."""

    compilation: str
    """As the record names the one that made it."""
    listing: Listing


def other_values(
    listing: Listing, node: int, others: Iterable[OtherGraph]
) -> Iterator[tuple[str, Value]]:
    """The values of a node that are not as in the listing, each once, by compilation."""
    seen = [listing.nodes[node].value]
    for other in others:
        # The nodes of one text are the same; a store may hold anything.
        facts = other.listing.nodes[node : node + 1]
        value = facts[0].value if facts else None
        if value is not None and value not in seen:
            seen.append(value)
            yield other.compilation, value
