"""Which node of one graph is which node of another, wherever it stands.

`fxls.graph_diff.node_matching` keeps the order of both, as the lines of a text do. Here a node is
known by what it does, by what it reads and by who reads it; names and positions decide
where these leave several ways open. All steps take time in proportion to the graphs,
or little more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from fxls.graph_diff.node_keys import NodeKeys, Ties
from fxls.graph_diff.node_matching import matched, rising
from fxls.listing import Listing

__all__ = ["moved_among", "same_nodes"]

_ROUNDS = 4
"""So often a step is repeated while it finds more."""


def same_nodes(old: Listing, new: Listing) -> dict[int, int]:
    """For the nodes of `new` that `old` has too, the node there.

    Of several ways to see it, the one by which the least has changed; of equal ones
    that by which names stay.
    """
    numbers: dict[Hashable, int] = {}
    graphs = NodeKeys(old, numbers), NodeKeys(new, numbers)
    best: _Matching | None = None
    seen: list[dict[int, int]] = []
    for begin in (_of_one_name, _inputs_in_place, _inputs_by_name, _inputs_by_use):
        pairs = begin(*graphs)
        if pairs in seen:
            continue
        seen.append(pairs)
        found = _Matching(*graphs, pairs)
        found.complete()
        if best is None or found.cost() < best.cost():
            best = found
        if best.cost() == 0:
            break
    assert best is not None, "there is a first one"
    return best.pairs()


def moved_among(pairs: Mapping[int, int]) -> tuple[int, ...]:
    """As few nodes of the new graph as need be moved to make one order of the other."""
    in_order = sorted(pairs.items())
    stay = {node for _, node in rising([(there, node) for node, there in in_order])}
    return tuple(node for node, _ in in_order if node not in stay)


class _Matching:
    """Pairs of nodes of two graphs, which become more."""

    def __init__(self, old: NodeKeys, new: NodeKeys, pairs: Mapping[int, int]) -> None:
        self._old, self._new = old, new
        self._there: list[int | None] = [None] * len(new.nodes)
        self._here: list[int | None] = [None] * len(old.nodes)
        self._left_new, self._left_old = len(new.nodes), len(old.nodes)
        for node, there in pairs.items():
            self._pair(there, node)
        last_old, last_new = len(old.nodes) - 1, len(new.nodes) - 1
        if old.opcodes[-1:] == new.opcodes[-1:] == ["output"] and (
            self._there[last_new] is None and self._is_left(last_old)
        ):
            self._pair(last_old, last_new)

    def pairs(self) -> dict[int, int]:
        """For nodes of the new graph those of the old one."""
        found = enumerate(self._there)
        return {node: there for node, there in found if there is not None}

    def cost(self) -> int:
        """How many nodes are not what they were."""
        pairs = self.pairs()
        old, new = self._old, self._new
        altered = sum(
            old.label[there] != new.label[node] or not self._reads_the_same(there, node)
            for node, there in pairs.items()
        )
        gone = len(old.nodes) + len(new.nodes) - 2 * len(pairs)
        return gone + altered + len(moved_among(pairs))

    def complete(self) -> None:
        """Find what else belongs together, the surest first."""
        self._grow()
        steps: tuple[Callable[[], bool], ...] = (
            self._by_neighbours,
            self._with_other_constants,
            self._with_other_inputs,
            lambda: self._in_order(self._old.label, self._new.label),
            self._of_one_name,
            self._in_one_place,
            lambda: self._in_order(self._old.kind, self._new.kind),
        )
        for step in steps:
            for _ in range(_ROUNDS):
                if not (self._left_old and self._left_new and step()):
                    break
                self._grow()

    # -- from nodes that are known to those beside them -----------------------------

    def _grow(self) -> None:
        """Go on from pairs to what reads, and what is read by, these alone."""
        for _ in range(_ROUNDS):
            grew = self._spread("label", "inputs")
            if not (self._spread("label", "users") or grew):
                return

    def _with_other_constants(self) -> bool:
        found = self._spread("kind", "inputs")
        return self._spread("kind", "users") or found

    def _with_other_inputs(self) -> bool:
        return self._spread("label", "users", strict=False)

    def _spread(self, what: str, by: str, *, strict: bool = True) -> bool:
        """Pair the nodes whose inputs, or users, are all paired with one another."""
        old, new = self._old, self._new
        olds, news = old.index(what, by), new.index(what, by)
        kinds: list[int] = getattr(new, what)
        ties: list[Ties] = getattr(new, by)
        order = range(len(new.nodes))
        found = False
        for node in order if by == "inputs" else reversed(order):
            if self._there[node] is not None:
                continue
            there = self._translated(ties[node])
            # Nothing is known of a node by having no users, nor of an input by its own.
            tells = ties[node] if by == "users" else new.opcodes[node] != "placeholder"
            if there is None or not tells:
                continue
            one = [n for n in olds.get((kinds[node], there), ()) if self._is_left(n)]
            if not one:
                continue
            peers = [n for n in news[kinds[node], ties[node]] if self._there[n] is None]
            found = self._pair_all(one, peers, by, strict=strict) or found
        return found

    def _translated(self, ties: Ties) -> Ties | None:
        found: list[tuple[int, int]] = []
        for one, at in ties:
            there = self._there[one]
            if there is None:
                return None
            found.append((there, at))
        return tuple(sorted(found))

    def _pair_all(
        self, olds: list[int], news: list[int], by: str, *, strict: bool
    ) -> bool:
        """Pair nodes that do the same: by all that is behind them, by what is next to
        them, by their origins, and in their order.
        """
        old, new = self._old, self._new
        if by == "users" and strict:
            olds, news = self._without_contradiction(olds, news)
        found = bool(olds and news)
        evidence: tuple[
            tuple[Callable[[int], Hashable], Callable[[int], Hashable]], ...
        ]
        if by == "inputs":
            evidence = ((old.up.__getitem__, new.up.__getitem__), (old.use, new.use))
        else:
            evidence = (
                (old.down.__getitem__, new.down.__getitem__),
                (old.source, new.source),
            )
        origins = (old.origin.__getitem__, new.origin.__getitem__)
        for of_old, of_new in (*evidence, origins, (_nothing, _nothing)):
            if not (olds and news):
                break
            if len(olds) == len(news) == 1:
                self._pair(olds[0], news[0])
                break
            self._pair_equal(_grouped(olds, of_old), _grouped(news, of_new))
            olds = [node for node in olds if self._is_left(node)]
            news = [node for node in news if self._there[node] is None]
        return found

    def _pair_equal(
        self, olds: dict[Hashable, list[int]], news: dict[Hashable, list[int]]
    ) -> None:
        for key, group in news.items():
            others = olds.get(key, [])
            if len(others) != len(group):
                # Some came or went: the names say which.
                called = {self._old.names[one]: one for one in others}
                for node in group:
                    there = called.pop(self._new.names[node], None)
                    if there is not None:
                        self._pair(there, node)
                group = [one for one in group if self._there[one] is None]
                others = [one for one in others if self._is_left(one)]
            for there, node in zip(others, group, strict=False):
                self._pair(there, node)

    def _without_contradiction(
        self, olds: list[int], news: list[int]
    ) -> tuple[list[int], list[int]]:
        """A single pair alone, unless it reads what is known to be something else."""
        if len(olds) == len(news) == 1:
            theirs = {at: one for one, at in self._old.inputs[olds[0]]}
            for one, at in self._new.inputs[news[0]]:
                there, known = theirs.get(at), self._there[one]
                if there is None or (known is None and self._is_left(there)):
                    continue
                if known != there:
                    return [], []
        return olds, news

    # -- from what is around them ---------------------------------------------------

    def _by_neighbours(self) -> bool:
        """Pair the nodes of which each side has one with these neighbours."""
        olds = _grouped(self._left(self._here), self._around_old)
        news = _grouped(self._left(self._there), self._around_new)
        found = False
        for key, group in news.items():
            others = olds.get(key, [])
            if len(group) == len(others) == 1:
                self._pair(others[0], group[0])
                found = True
        return found

    def _around_old(self, node: int) -> Hashable:
        return _around(self._old, node, lambda one: None if self._is_left(one) else one)

    def _around_new(self, node: int) -> Hashable:
        return _around(self._new, node, self._there.__getitem__)

    def _in_order(self, old_keys: Sequence[int], new_keys: Sequence[int]) -> bool:
        """Pair nodes of one key between the same pairs, with a neighbour in common."""
        # Keys of pairs are below zero, those of the others above.
        olds = [
            old_keys[node] if pair is None else -1 - node
            for node, pair in enumerate(self._here)
        ]
        news = [
            new_keys[node] if pair is None else -1 - pair
            for node, pair in enumerate(self._there)
        ]
        pairs = matched(olds, news)
        return self._pair_related((a, b) for a, b in pairs if self._there[b] is None)

    def _of_one_name(self) -> bool:
        """Pair nodes with one name and opcode that have a neighbour in common."""
        old, new = self._old, self._new
        called = {
            (old.names[node], old.opcodes[node]): node
            for node in self._left(self._here)
        }
        named = (
            (called.get((new.names[node], new.opcodes[node])), node)
            for node in self._left(self._there)
        )
        return self._pair_related((a, b) for a, b in named if a is not None)

    def _in_one_place(self) -> bool:
        """Pair a node with the one that reads, and is read, where it did and was."""
        old, new = self._old, self._new
        olds: dict[Hashable, list[int]] = {}
        for node in self._left(self._here):
            for key in _in_place(old, node, old.inputs[node], old.users[node]):
                olds.setdefault(key, []).append(node)
        found = False
        for node in self._left(self._there):
            read = self._translated(new.inputs[node])
            users = self._translated(new.users[node])
            for key in _in_place(new, node, read, users):
                others = [one for one in olds.get(key, ()) if self._is_left(one)]
                if len(others) == 1:
                    self._pair(others[0], node)
                    found = True
                    break
        return found

    def _pair_related(self, pairs: Iterable[tuple[int, int]]) -> bool:
        found = False
        for there, node in list(pairs):
            if self._is_left(there) and self._are_related(there, node):
                self._pair(there, node)
                found = True
        return found

    def _are_related(self, there: int, node: int) -> bool:
        old, new = self._old, self._new
        return any(
            one in {self._there[each] for each, _ in ties}
            for others, ties in (
                (old.inputs[there], new.inputs[node]),
                (old.users[there], new.users[node]),
            )
            for one, _ in others
        )

    # -- pairs ----------------------------------------------------------------------

    def _pair(self, there: int, node: int) -> None:
        self._there[node], self._here[there] = there, node
        self._left_new -= 1
        self._left_old -= 1

    def _is_left(self, there: int) -> bool:
        return self._here[there] is None

    @staticmethod
    def _left(paired: Sequence[int | None]) -> list[int]:
        return [node for node, other in enumerate(paired) if other is None]

    def _reads_the_same(self, there: int, node: int) -> bool:
        return self._translated(self._new.inputs[node]) == self._old.inputs[there]


# -- how to begin ----------------------------------------------------------------------


def _of_one_name(old: NodeKeys, new: NodeKeys) -> dict[int, int]:
    """Nodes of one name that call the same."""
    called = {(name, old.kind[node]): node for node, name in enumerate(old.names)}
    found = (
        (node, called.pop((name, new.kind[node]), None))
        for node, name in enumerate(new.names)
    )
    return {node: there for node, there in found if there is not None}


def _inputs_in_place(old: NodeKeys, new: NodeKeys) -> dict[int, int]:
    """The inputs of the graphs by their places, where both have as many."""
    return _others_in_order(old, new, {})


def _inputs_by_name(old: NodeKeys, new: NodeKeys) -> dict[int, int]:
    """The inputs of the graphs by their names; of others those in their places."""
    named = {old.nodes[node].target: node for node in _inputs(old)}
    found: dict[int, int] = {}
    for node in _inputs(new):
        there = named.pop(new.nodes[node].target, None)
        if there is not None:
            found[node] = there
    return {**found, **_others_in_order(old, new, found)}


def _inputs_by_use(old: NodeKeys, new: NodeKeys) -> dict[int, int]:
    """The inputs of the graphs by their order and by who reads them."""
    olds, news = _inputs(old), _inputs(new)
    found: dict[int, int] = {}
    rows = [
        [graph.up[node] for node in nodes]
        for graph, nodes in ((old, olds), (new, news))
    ]
    if rows[0] == rows[1]:
        return dict(zip(news, olds, strict=True))
    uses = [
        [graph.number(graph.use(node)) for node in nodes]
        for graph, nodes in ((old, olds), (new, news))
    ]
    for there, node in matched(*uses):
        found[news[node]] = olds[there]
    # One that stands elsewhere is known by a use that no other has.
    taken = {*found.values()}
    once = _only(zip(uses[0], olds, strict=True), taken)
    for key, node in _only(zip(uses[1], news, strict=True), {*found}).items():
        if key in once:
            found[node] = once[key]
    return {**found, **_others_in_order(old, new, found)}


def _only(keyed: Iterable[tuple[int, int]], taken: set[int]) -> dict[int, int]:
    left = [(key, node) for key, node in keyed if node not in taken]
    counts = Counter(key for key, _ in left)
    return {key: node for key, node in left if counts[key] == 1}


def _others_in_order(
    old: NodeKeys, new: NodeKeys, pairs: Mapping[int, int]
) -> dict[int, int]:
    """Where each graph has as many inputs more, the first with the first."""
    taken = {*pairs.values()}
    olds = [node for node in _inputs(old) if node not in taken]
    news = [node for node in _inputs(new) if node not in pairs]
    return dict(zip(news, olds, strict=True)) if len(olds) == len(news) else {}


def _inputs(graph: NodeKeys) -> list[int]:
    return [node for node, one in enumerate(graph.opcodes) if one == "placeholder"]


# -- what nodes are known by beside pairs ----------------------------------------------


def _in_place(
    graph: NodeKeys, node: int, read: Ties | None, users: Ties | None
) -> Iterator[Hashable]:
    """How the place of a node is known: by pairs on one side, and the other as it is."""
    opcode = graph.opcodes[node]
    if read:
        yield opcode, read, users
        yield opcode, read, "used", graph.use(node)
    if users:
        yield opcode, graph.source(node), "source", users


def _around(graph: NodeKeys, node: int, known: Callable[[int], int | None]) -> Hashable:
    """A node and its neighbours: those that are paired, and what the others do."""
    around: list[tuple[int, int, int]] = []
    for way, ties in ((0, graph.inputs[node]), (1, graph.users[node])):
        for one, at in ties:
            pair = known(one)
            if pair is None:
                around.append((2 + way, at, graph.label[one]))
            else:
                around.append((way, at, pair))
    return graph.label[node], tuple(sorted(around))


def _grouped(
    nodes: Iterable[int], key: Callable[[int], Hashable]
) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for node in nodes:
        found.setdefault(key(node), []).append(node)
    return found


def _nothing(_node: int) -> Hashable:
    return None
