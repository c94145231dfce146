"""What the nodes of a graph are known by, whatever they are called: what each does, what
it reads and who reads it, as numbers that two graphs share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

from fxls.listing import Facts, Listing

__all__ = ["NodeKeys", "Ties", "inputs_of"]

Ties = tuple[tuple[int, int], ...]
"""Other nodes, each with the place of the argument by which they are tied."""


def inputs_of(facts: Facts) -> tuple[int, ...]:
    """The nodes that stand in the arguments of a node, by place."""
    found = [piece for pieces in facts.args for piece in pieces if type(piece) is int]
    for _, pieces in sorted(facts.kwargs):
        found += [piece for piece in pieces if type(piece) is int]
    return tuple(found)


class NodeKeys:
    """The nodes of a listing; numbers that stand for keys are shared by two graphs."""

    def __init__(self, listing: Listing, numbers: dict[Hashable, int]) -> None:
        self.nodes = nodes = listing.nodes
        self.names = [facts.name for facts in nodes]
        self.opcodes = [facts.opcode for facts in nodes]
        self._numbers = numbers
        self.label = [self.number(_label(facts)) for facts in nodes]
        self.kind = [self.number((f.opcode, _target(f))) for f in nodes]
        users: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self.inputs: list[Ties] = []
        for node, facts in enumerate(nodes):
            ties = tuple((one, at) for at, one in enumerate(inputs_of(facts)))
            self.inputs.append(tuple(sorted(ties)))
            for one, at in ties:
                users[one].append((node, at))
        self.users: list[Ties] = [tuple(one) for one in users]
        self.down = self._deep(self.inputs, range(len(nodes)))
        self.up = self._deep(self.users, range(len(nodes) - 1, -1, -1))
        self.origin = [
            self.number(_origin(listing, node)) for node in range(len(nodes))
        ]
        self._indices: dict[tuple[str, str], dict[Hashable, list[int]]] = {}

    def number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def index(self, what: str, by: str) -> dict[Hashable, list[int]]:
        """The nodes of each label or kind with the same inputs or users."""
        found = self._indices.get((what, by))
        if found is None:
            found = self._indices[what, by] = defaultdict(list)
            kinds: list[int] = getattr(self, what)
            ties: list[Ties] = getattr(self, by)
            for node in range(len(self.nodes)):
                found[kinds[node], ties[node]].append(node)
        return found

    def use(self, node: int) -> Hashable:
        """Who reads a node, and how, whatever they are called."""
        return tuple(sorted((self.label[user], at) for user, at in self.users[node]))

    def source(self, node: int) -> Hashable:
        """What a node reads, whatever that is called."""
        return tuple((self.label[one], at) for one, at in self.inputs[node])

    def _deep(self, ties: Sequence[Ties], order: Iterable[int]) -> list[int]:
        """For each node a number for all that is tied to it, however far away."""
        found = [-1] * len(self.nodes)
        for node in order:
            # A node that is read before it is made, which no sound graph has, says -1.
            around = sorted((at, found[one]) for one, at in ties[node])
            found[node] = self.number((self.label[node], tuple(around)))
        return found


def _label(facts: Facts) -> Hashable:
    """What a node does on which constants, whatever it reads."""
    return (
        facts.opcode,
        _target(facts),
        tuple(map(_constant, facts.args)),
        tuple(sorted((name, _constant(pieces)) for name, pieces in facts.kwargs)),
    )


def _target(facts: Facts) -> str:
    # The target of an input is its name.
    return "" if facts.opcode == "placeholder" else facts.target


def _constant(pieces: Sequence[str | int]) -> tuple[str, ...]:
    return tuple("" if isinstance(piece, int) else piece for piece in pieces)


def _origin(listing: Listing, node: int) -> Hashable:
    row = listing.nodes[node].origin
    if row is None:
        return None
    frame = listing.frames[row]
    return listing.sources[frame.source].path, frame.span
