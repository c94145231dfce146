"""How long the nodes of a graph take, as far as runs measured the kernels of its code.

A kernel may compute several nodes, and nobody knows what each of them took: all of them
share its time, and none has it for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from fxls.counted import counted
from fxls.ide.listing.document import Document
from fxls.listing import KERNELS, Place
from fxls.record.kernel_times import KernelTimes

__all__ = [
    "TimedCode",
    "TimedKernel",
    "by_node",
    "code_text",
    "milliseconds",
    "nanoseconds",
    "share_text",
    "timed_kernels",
    "times_text",
]

_LAST = "post-grad"
_Chain = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class TimedCode:
    """Code that a compiler wrote, and how long its kernels took."""

    document: Document
    times: KernelTimes


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """A call of a kernel, as a graph sees it."""

    seconds: float
    """Of one call of the code, the mean of all that were measured."""
    share: float
    """Of the time of the code."""
    nodes: tuple[int, ...]
    """Those of the graph that it computes."""
    shared_by: int
    """How many it computes, also where the graph has them no more."""
    calls: int
    """So many calls were measured."""


def timed_kernels(
    document: Document, codes: Iterable[TimedCode]
) -> tuple[TimedKernel, ...]:
    """The calls of kernels that compute nodes of a listing: of code its own, of a graph
    those in the code that was made of it.
    """
    return tuple(
        kernel
        for code in codes
        if (nodes_of := _nodes_of(document, code.document)) is not None
        for node, seconds in code.times.kernels.items()
        if (kernel := _kernel(code, node, seconds, nodes_of)) is not None
    )


def by_node(kernels: Iterable[TimedKernel]) -> Mapping[int, Sequence[TimedKernel]]:
    """The kernels of each node that has any."""
    found: dict[int, list[TimedKernel]] = defaultdict(list)
    for kernel in kernels:
        for node in kernel.nodes:
            found[node].append(kernel)
    return found


def nanoseconds(count: int, kernels: Iterable[TimedKernel]) -> tuple[int, ...]:
    """For each of so many nodes, how long all kernels take together that compute it."""
    times = [0.0] * count
    for kernel in kernels:
        for node in kernel.nodes:
            times[node] += kernel.seconds
    return tuple(round(seconds * 1e9) for seconds in times)


def times_text(kernels: Sequence[TimedKernel]) -> str:
    """How long the kernels of one node take, and with how many nodes it shares that."""
    said = milliseconds(sum(one.seconds for one in kernels))
    if len(kernels) > 1:
        said = f"{said} in {counted(len(kernels), 'kernel')}"
    shared = [one for one in kernels if one.shared_by > 1]
    if not shared:
        return said
    if len(kernels) == 1:
        return f"{said}, shared by {kernels[0].shared_by} nodes"
    which = "all" if len(shared) == len(kernels) else f"{len(shared)}"
    return f"{said}, {which} of them shared with other nodes"


def share_text(kernel: TimedKernel) -> str:
    """``0.289 ms, 24 %``: a call in its code."""
    return f"{milliseconds(kernel.seconds)}, {kernel.share * 100:.0f} %"


def code_text(times: KernelTimes) -> str:
    """How long a call of the code takes, with a look at each line and without."""
    said = f"{milliseconds(times.each)} each in {counted(times.calls, 'call')}"
    if times.whole is None:
        return said
    return f"{said}, {milliseconds(times.whole)} when nobody looks at its lines"


def milliseconds(seconds: float) -> str:
    """As many milliseconds, to a microsecond."""
    return f"{seconds * 1e3:,.3f} ms"


def _kernel(
    code: TimedCode,
    node: int,
    seconds: float,
    nodes_of: Callable[[int], tuple[Sequence[int], int]],
) -> TimedKernel | None:
    nodes, count = nodes_of(node)
    if not nodes:
        return None
    share = seconds / code.times.each if code.times.each else 0.0
    shared_by = max(count, len(nodes))
    return TimedKernel(seconds, share, tuple(nodes), shared_by, code.times.calls)


def _nodes_of(
    document: Document, code: Document
) -> Callable[[int], tuple[Sequence[int], int]] | None:
    """For a call of code, the nodes of a listing that it computes, and how many it
    computes in all; None for a listing that the code was not made of.
    """
    listing = code.listing
    if document.path == code.path:
        return lambda call: ((call,), 1)
    if PurePath(document.path).name not in {one.file for one in listing.parents}:
        return None
    identity = document.listing.identity
    last = identity.steps[-1] if identity.steps else ""
    if last == KERNELS or not identity.stage:
        return None
    if last in ("", "pre-grad"):
        return _by_expression(document, code)
    names = {facts.name: at for at, facts in enumerate(document.listing.nodes)}
    is_last = last == _LAST

    def by_name(call: int) -> tuple[Sequence[int], int]:
        made_from = listing.nodes[call].made_from
        found = [names[name] for name in made_from if name in names]
        if not is_last:
            # Between the two graphs a pass may have given the name to something else.
            own = {*_chains(code, call)}
            found = [one for one in found if own.issuperset(_chains(document, one))]
        return found, len(made_from)

    return by_name


def _by_expression(
    document: Document, code: Document
) -> Callable[[int], tuple[Sequence[int], int]]:
    """By the chain of calls that made a node, which passes keep and names do not."""
    made: dict[_Chain, list[int]] = defaultdict(list)
    for node, facts in enumerate(document.listing.nodes):
        if facts.opcode not in ("placeholder", "get_attr", "output"):
            for chain in _chains(document, node):
                made[chain].append(node)

    def by_chain(call: int) -> tuple[Sequence[int], int]:
        found = {at for chain in _chains(code, call) for at in made.get(chain, ())}
        return sorted(found), len(found)

    return by_chain


def _chains(document: Document, node: int) -> Iterator[_Chain]:
    return (origin.places for origin in document.listing.origins(node))
