"""How long kernels took in the code that a compiler wrote, as runs measured it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fxls.listing import Identity, Listing
from fxls.record import Event, Spent

__all__ = ["CALL", "KernelTimes", "kernel_times", "spent_by_listing"]

CALL = "call_kernel"
"""The opcode of the node that is a call of a kernel."""


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """The seconds of one call of code, the mean of all that were measured."""

    calls: int
    """So many were measured."""
    each: float
    """Of all lines together."""
    kernels: Mapping[int, float]
    """Of each call of a kernel, by its node."""
    whole: float | None
    """Of the calls whose lines nobody looked at; None where there were none."""

    @property
    def rest(self) -> float:
        """Of all lines that call no kernel."""
        return max(self.each - sum(self.kernels.values()), 0.0)


def spent_by_listing(events: Iterable[Event]) -> dict[tuple[Identity, str], Spent]:
    """What was measured of each listing: a program may load its code again."""
    found: dict[tuple[Identity, str], Spent] = {}
    for one in events:
        if isinstance(one, Spent):
            of = (one.revision.identity, one.revision.text)
            found[of] = _together(found[of], one) if of in found else one
    return found


def kernel_times(spent: Spent | None, listing: Listing) -> KernelTimes | None:
    """The times of a listing's kernels; None where it was not measured."""
    if spent is None or not spent.calls:
        return None
    lines = dict(spent.lines)
    return KernelTimes(
        spent.calls,
        spent.seconds / spent.calls,
        {
            # Of several on a line, the first has its time, so that no time counts twice.
            node: lines.pop(facts.line, 0.0) / spent.calls
            for node, facts in enumerate(listing.nodes)
            if facts.opcode == CALL
        },
        spent.whole_seconds / spent.whole_calls if spent.whole_calls else None,
    )


def _together(one: Spent, other: Spent) -> Spent:
    lines = dict(one.lines)
    for line, seconds in other.lines:
        lines[line] = lines.get(line, 0.0) + seconds
    return Spent(
        one.revision,
        one.calls + other.calls,
        one.seconds + other.seconds,
        tuple(lines.items()),
        one.whole_calls + other.whole_calls,
        one.whole_seconds + other.whole_seconds,
    )
