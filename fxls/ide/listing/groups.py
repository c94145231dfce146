"""The nodes of a listing as a tree: by the submodules that were being called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fxls.listing import Listing, Scope

__all__ = ["Group", "groups"]


@dataclass(slots=True)
class Group:
    """Nodes that follow each other and were made in one call of a submodule.

    The call of a leaf is one node, and no group of its own.
    """

    scope: int | None
    """The row of the module table; None for the root."""
    first: int
    last: int
    """The last node."""
    members: list[Group | int] = field(default_factory=list["Group | int"])
    inner: list[Group] = field(default_factory=list["Group"])
    """The groups among the members, of which there are far fewer than nodes."""

    def within(self) -> Iterator[Group]:
        """The groups below this one, in the order of the graph."""
        below = self.inner[::-1]
        while below:
            group = below.pop()
            yield group
            below += reversed(group.inner)


def groups(listing: Listing) -> Group:
    """The tree of a listing; its root has all nodes."""
    count = len(listing.nodes)
    root = Group(None, 0, max(count - 1, 0))
    rows: dict[int | None, tuple[int, ...]] = {None: ()}
    stack = [root]
    at: tuple[int, ...] = ()
    for node, facts in enumerate(listing.nodes):
        path = _path(facts.scope, listing.scopes, rows)
        if path and facts.opcode == "call_module":
            called = listing.scopes[path[-1]].path == facts.target
            path = path[:-1] if called else path
        # Nearly always it is that of the node before.
        if path != at:
            common = _common(at, path)
            for group in stack[common + 1 :]:
                group.last = node - 1
            del stack[common + 1 :]
            for row in path[common:]:
                group = Group(row, node, count - 1)
                stack[-1].members.append(group)
                stack[-1].inner.append(group)
                stack.append(group)
            at = path
        stack[-1].members.append(node)
    return root


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many rows they have in common from the start."""
    for at, (row, another) in enumerate(zip(one, other, strict=False)):
        if row != another:
            return at
    return min(len(one), len(other))


def _path(
    scope: int | None,
    scopes: tuple[Scope, ...],
    rows: dict[int | None, tuple[int, ...]],
) -> tuple[int, ...]:
    """The rows from the outermost to `scope`; one without a path is the root."""
    known = rows.get(scope)
    if known is None:
        assert scope is not None
        own = (scope,) if scopes[scope].path else ()
        known = rows[scope] = _path(scopes[scope].parent, scopes, rows) + own
    return known
