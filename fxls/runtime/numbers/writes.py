"""Which values of a graph change while it runs, and what has to run before them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fxls.runtime.passes.graph_state import Row, nodes_in
from fxls.runtime.torch_private import is_view, schema_of

__all__ = ["Writes", "writes_in"]


@dataclass(slots=True)
class Writes:
    """What the nodes of a graph change in place.

    An input that is overwritten behind its last reader is not among it: what is read of
    it stays what it is.
    """

    changing: set[str] = field(default_factory=set[str])
    """The values that are not the same throughout: what is written, all that shares its
    memory, and what the writing nodes give."""
    before: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By a node that reads such a value, the nodes that wrote it until then."""
    all: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By such a value, all nodes that write it."""


def writes_in(
    rows: Sequence[Row],
    name_of: Callable[[Any], str],
    uses: Callable[[Row], Sequence[str]],
    overwritten: Mapping[str, str],
) -> Writes:
    """What these nodes write; `overwritten` has inputs and the node that each gets its
    value from.
    """
    owners: dict[str, str] = {}
    """By a value, the first one that has its memory."""
    by_owner: dict[str, list[str]] = {}
    readers: dict[str, dict[str, int]] = {}
    """By a value's owner, the nodes that read it and how many writes were before."""
    for row in rows:
        read = {owners.get(name, name) for name in uses(row)}
        for owner in read:
            done = len(by_owner.get(owner, ()))
            readers.setdefault(owner, {})[row.name] = done
        written = [name_of(node) for node in _written(row)]
        for name in written:
            by_owner.setdefault(owners.get(name, name), []).append(row.name)
        if written:
            owners[row.name] = owners.get(written[0], written[0])
        elif _shares(row) and uses(row):
            first = uses(row)[0]
            owners[row.name] = owners.get(first, first)
    found = Writes()
    for owner, writing in by_owner.items():
        seen = readers.get(owner, {})
        if writing == [overwritten.get(owner)] and not any(seen.values()):
            continue
        sharing = [name for name, one in owners.items() if one == owner]
        for name in (owner, *sharing, *writing):
            found.changing.add(name)
            found.all[name] = _more(found.all.get(name), writing)
        for reader, done in seen.items():
            found.before[reader] = _more(found.before.get(reader), writing[:done])
    return found


def _more(known: Iterable[str] | None, writing: Iterable[str]) -> list[str]:
    return [*dict.fromkeys((*(known or ()), *writing))]


def _written(row: Row) -> list[Any]:
    """The nodes whose values a node changes, as its operator says."""
    schema: Any = schema_of(row.target)
    if schema is None:
        # A kernel of Triton says it of none of its tensors: each may be one.
        is_triton = str(row.target) == "triton_kernel_wrapper_mutation"
        return [node for _, node in nodes_in(row.kwargs)] if is_triton else []
    found: list[Any] = []
    for at, one in enumerate(schema.arguments):
        if one.alias_info is None or not one.alias_info.is_write:
            continue
        given = row.args[at] if at < len(row.args) else row.kwargs.get(one.name)
        found += [node for _, node in nodes_in((given,))]
    return found


def _shares(row: Row) -> bool:
    """Whether what a node gives may have the memory of the first value that it reads."""
    return is_view(row.target) or getattr(row.target, "__name__", "") == "getitem"
