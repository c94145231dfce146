"""Where a graph nearly has the form of another one, and which node stands in the way.

It goes from the results of a pattern to what they use, as `SubgraphMatcher` of torch.fx
and of the engine does, and asks the matcher itself whether two nodes or values agree.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from fxls.runtime.producers.places.node_places import bare

__all__ = ["Miss", "misses", "with_form"]

_MOST_CANDIDATES = 200
_LONGEST_VALUE = 60
_STEPS = ("call_function", "call_method", "call_module")


@dataclass(frozen=True, slots=True)
class Miss:
    """A place where a pattern nearly has a match."""

    node: Any
    """Where the match would have ended."""
    blocking: Any
    """The node of the graph that is not as in the pattern."""
    reason: str
    score: int
    """How much of the pattern is there."""


def misses(matcher: Any, graph: Any, found: Iterable[Any]) -> Iterator[Miss]:
    """What a search in a graph left, of which `found` are the matches.

    What stands in no way that is known here says nothing.
    """
    anchors = matcher.pattern_anchors
    if not anchors:
        return
    taken: dict[Any, None] = {}
    matched: set[Any] = set()
    for match in found:
        matched.add(match.nodes_map[anchors[0]])
        taken |= dict.fromkeys(_computed(match.nodes_map))
    for node in _candidates(matcher, graph, anchors[0]):
        if node not in matched:
            miss = _tried(matcher, graph, node, taken)
            if miss is not None:
                yield miss


def with_form(match: Any, reason: str) -> Miss:
    """A match that was not replaced."""
    node = match.nodes_map[match.anchors[0]]
    return Miss(node, node, reason, len(match.nodes_map) + 1)


def _candidates(matcher: Any, graph: Any, anchor: Any) -> list[Any]:
    """The nodes at which a match may end, the last ones first."""
    alike: list[Any] = []
    for node in reversed(graph.nodes):
        if _is_equal(matcher, anchor, node):
            alike.append(node)
            if len(alike) == _MOST_CANDIDATES:
                break
    return alike


def _tried(
    matcher: Any, graph: Any, node: Any, taken: Mapping[Any, None]
) -> Miss | None:
    first, *others = matcher.pattern_anchors
    walk = _Walk(matcher, node)
    is_there = walk.goes(first, node)
    for anchor in others:
        if not is_there:
            break
        walks: list[_Walk] = []
        for candidate in _candidates(matcher, graph, anchor):
            walks.append(copy.copy(walk))
            walks[-1].bound = {**walk.bound}
            if walks[-1].goes(anchor, candidate):
                break
        if not walks:
            target = _called(anchor)
            return Miss(node, node, f"nothing calls {target}", len(walk.bound))
        # The last one is there, or none is and the one that goes furthest counts.
        walk = max(walks, key=lambda one: (one.blocking is None, len(one.bound)))
        is_there = walk.blocking is None
    if is_there:
        walk.look_around(taken)
    if walk.blocking is None:
        return None
    return Miss(node, walk.blocking, walk.reason, len(walk.bound) + is_there)


@dataclass(slots=True)
class _Walk:
    """How far a pattern goes from a node on."""

    matcher: Any
    blocking: Any
    """The node that stands in the way; the first one, while nothing is known."""
    reason: str = ""
    bound: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """By node of the pattern, what it stands for."""

    def goes(self, anchor: Any, node: Any) -> bool:
        """Whether all that a node of the pattern uses is there; else why not."""
        waiting: list[tuple[Any, Any, Any]] = [(anchor, node, node)]
        while waiting:
            wanted, given, parent = waiting.pop()
            if _is_node(wanted) and _is_node(given):
                pairs = self._step(wanted, given, parent)
                inner = given
            elif isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
                pairs = self._items(
                    cast("Sequence[Any]", wanted), cast("Sequence[Any]", given), parent
                )
                inner = parent
            else:
                pairs = self._literal(wanted, given, parent)
                inner = parent
            if pairs is None:
                return False
            waiting += [(*pair, inner) for pair in reversed(pairs)]
        self.blocking = None
        return True

    def look_around(self, taken: Mapping[Any, None]) -> None:
        """Say what else uses what only the pattern may use, where it is all there."""
        own = dict.fromkeys(_computed(self.bound))
        returned = {*self.matcher.pattern_returning_nodes}
        for wanted, given in self.bound.items():
            if wanted.op in ("placeholder", "output") or wanted in returned:
                continue
            others = [user for user in given.users if user not in own]
            if others:
                user = others[0]
                by = "returned" if user.op == "output" else f"used by {bare(user.name)}"
                self._blocks(
                    given, f"{bare(given.name)} is {by} outside of the pattern"
                )
                return
        for given in own:
            if given in taken:
                self._blocks(given, f"{bare(given.name)} is a part of another match")
                return

    def _step(
        self, wanted: Any, given: Any, parent: Any
    ) -> list[tuple[Any, Any]] | None:
        name, bound = bare(given.name), self.bound
        step = given if given.op in _STEPS else parent
        if wanted in bound:
            before = bound[wanted]
            if before is given:
                return []
            both = f"{_value(before)} and {_value(given, before)}"
            return self._blocks(
                step, f"the pattern has one value twice, and here there are {both}"
            )
        if any(given is one for one in bound.values()):
            return self._blocks(
                step, f"the pattern has two values, and here both are {_value(given)}"
            )
        if not _is_equal(self.matcher, wanted, given):
            there = f"and the pattern has {_called(wanted)} there"
            if step is given:
                return self._blocks(given, f"{name} is {_called(given)}, {there}")
            what = "an input" if given.op == "placeholder" else f"the attribute {name}"
            return self._blocks(parent, f"{bare(parent.name)} reads {what}, {there}")
        bound[wanted] = given
        if wanted.op == "placeholder":
            return []
        pairs = _paired(wanted, given)
        if pairs is None:
            counts = [len(one.args) + len(one.kwargs) for one in (given, wanted)]
            if counts[0] == counts[1]:
                said = f"the arguments of {name} are arranged otherwise than in the pattern"
            else:
                said = (
                    f"{name} has {counts[0]} arguments, and in the pattern {counts[1]}"
                )
            return self._blocks(given, said)
        return pairs

    def _items(
        self, wanted: Sequence[Any], given: Sequence[Any], parent: Any
    ) -> list[tuple[Any, Any]] | None:
        if len(wanted) == len(given):
            return list(zip(wanted, given, strict=True))
        counts = f"{len(given)} values, and the pattern {len(wanted)} there"
        return self._blocks(parent, f"{bare(parent.name)} has {counts}")

    def _literal(
        self, wanted: Any, given: Any, parent: Any
    ) -> list[tuple[Any, Any]] | None:
        match = SimpleNamespace(nodes_map=self.bound)
        agrees = self.matcher._match_literals(wanted, given, match)
        if agrees or self.matcher.ignore_literals:
            return []
        has, wants = _value(given), _value(wanted)
        if _is_node(wanted):
            wants = "another value" if wanted.op == "placeholder" else _called(wanted)
        return self._blocks(
            parent, f"{bare(parent.name)} has {has}, and the pattern has {wants} there"
        )

    def _blocks(self, node: Any, reason: str) -> None:
        self.blocking, self.reason = node, reason


def _is_equal(matcher: Any, wanted: Any, given: Any) -> bool:
    try:
        return bool(matcher._nodes_are_equal(wanted, given))
    except (RuntimeError, AssertionError):
        return False  # attributes that are no tensors are compared by nobody


def _computed(bound: Mapping[Any, Any]) -> Iterator[Any]:
    """What a match takes up: not what goes into it."""
    for wanted, given in bound.items():
        if wanted.op not in ("placeholder", "output"):
            yield given


def _paired(wanted: Any, given: Any) -> list[tuple[Any, Any]] | None:
    """The arguments of two nodes side by side; None when they cannot agree."""
    if len(wanted.args) == len(given.args) and [*wanted.kwargs] == [*given.kwargs]:
        ours = (*wanted.args, *wanted.kwargs.values())
        theirs = (*given.args, *given.kwargs.values())
        return list(zip(ours, theirs, strict=True))
    schema = getattr(wanted.target, "_schema", None)
    if wanted.op != "call_function" or schema is None:
        return None
    both = [_filled(one, schema.arguments) for one in (wanted, given)]
    return list(zip(*both, strict=True))


def _filled(node: Any, schema: Iterable[Any]) -> Iterator[Any]:
    """The arguments of a call in the order of a schema, defaults where none is given."""
    for at, parameter in enumerate(schema):
        if parameter.name in node.kwargs:
            yield node.kwargs[parameter.name]
        elif at < len(node.args) and not parameter.kwarg_only:
            yield node.args[at]
        else:
            yield parameter.default_value


def _called(node: Any) -> str:
    """What a node does."""
    match node.op:
        case "call_function":
            return _function(node.target)
        case "call_method":
            return f"the method {node.target}"
        case "call_module":
            return f"the module {node.target}"
        case "get_attr":
            return f"the attribute {node.target}"
        case _:
            return "an input"


def _function(target: Any) -> str:
    """The name of a function, with its module; that of an operator as torch writes it."""
    name = getattr(target, "__name__", None)
    if name is None or hasattr(target, "_schema"):
        return str(target)
    module = getattr(target, "__module__", None) or ""
    # What stands in `operator` says that it is of `_operator`.
    return f"{module.lstrip('_')}.{name}" if module else name


def _value(value: Any, other: Any = None) -> str:
    if _is_node(value):
        if value.op != "placeholder":
            return bare(value.name)
        is_second = _is_node(other) and other.op == "placeholder"
        return "another input" if is_second else "an input"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _is_node(value: Any) -> bool:
    """Whether an argument is a node, of torch.fx or of the engine."""
    return hasattr(cast("type[Any]", type(value)), "all_input_nodes")
