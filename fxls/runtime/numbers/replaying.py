"""Runs kept graphs: as a whole, and from values that somebody else computed."""

from __future__ import annotations

import enum
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import (
    NotRun,
    ReplayedGraph,
    doubled,
    draw_from,
    is_on_gpu,
    is_plain,
    leaves,
    randomness,
)
from fxls.runtime.numbers.judging.precision import nudged
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.otherwise import Otherwise
from fxls.runtime.numbers.random_nodes import RANDOM, is_random
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import fx, leaving_transforms, version_of

__all__ = [
    "ChangesInPlace",
    "Mode",
    "Replay",
    "Segments",
    "alone",
    "compute",
    "formed",
    "formed_all",
    "raised_by",
    "replayed",
    "rounding",
    "seen_in",
]

any_torch: Any = torch

_KEPT: Mapping[str, list[str]] = {}
"""Where no value is let go."""


class ChangesInPlace(NotRun):
    """A node changes a value, so that nothing can be said of the nodes before it."""

    def __init__(self, node: str, does: str = "changes a value in place") -> None:
        super().__init__(f"{node} {does}")
        self.node = node


class Mode(enum.Enum):
    """In which numbers something is computed."""

    OWN = "own"
    MOVED = "moved"
    """With inputs moved by a rounding."""
    EXACT = "exact"
    """In float64."""
    OTHERWISE = "otherwise"
    """With roundings that compiled code may do and eager does not."""


@dataclass(slots=True)
class Replay:
    """What a graph gave, node by node."""

    values: Values = field(default_factory=Values)
    random: set[str] = field(default_factory=set[str])
    """The nodes that drew random numbers."""
    states: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the generator was at before each of these."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """The nodes that raised, and what; those that use them are left out."""
    unknown: dict[str, str] = field(default_factory=dict[str, str])
    """The nodes that nobody but inductor's code can run, and why; the same holds."""


def replayed(
    graph: ReplayedGraph,
    inputs: Mapping[str, Any],
    wanted: Iterable[str] | None = None,
) -> Replay:
    """Run a graph as it is, and change none of these inputs.

    Where it is said which values are `wanted`, the others go as in `compute`.
    Raises `ChangesInPlace`, also where functions are transformed, and `NotRun` where
    autocast is switched, which nodes do not say.
    """
    done = Replay(Values(room=getattr(inputs, "room", None)))
    if any("_autocast" in getattr(row.target, "__name__", "") for row in graph.rows):
        raise NotRun("it switches autocast")
    if graph.in_place:
        raise ChangesInPlace(graph.in_place)
    if graph.transforming:
        raise ChangesInPlace(graph.transforming, "enters a transform of torch.func")
    is_captured = graph.is_captured
    gone = _KEPT if wanted is None else _last_read(graph, graph.rows, wanted)
    with alone():
        for row in graph.rows:
            if row.opcode == "placeholder":
                if row.name in inputs:
                    given = inputs[row.name]
                    done.values[row.name] = _own(given) if is_captured else given
            elif all(used in done.values for used in graph.uses(row)):
                _run_one(graph, row, done)
            for name in gone.get(row.name, ()):
                done.values.pop(name, None)
    return done


def _run_one(graph: ReplayedGraph, row: Row, done: Replay) -> None:
    before = randomness()
    with done.values.pinned():
        given = [
            one
            for used in graph.uses(row)
            for one in leaves(done.values[used])
            if isinstance(one, torch.Tensor)
        ]
        versions = [version_of(one) for one in given]
        found = attempt(lambda: graph.run(row, done.values.__getitem__))
        is_changed = versions != [version_of(one) for one in given]
        del given
    if isinstance(found, Raised):
        if isinstance(found.error, NotRun):
            done.unknown[row.name] = str(found.error)
        else:
            done.failed[row.name] = raised_by(found.error)
        return
    if is_changed:
        raise ChangesInPlace(row.name)
    if is_random(row) or not any_torch.equal(before, randomness()):
        done.random.add(row.name)
        done.states[row.name] = before
    done.values[row.name] = found


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value


class Segments:
    """Parts of a graph, computed from the values that somebody really had."""

    def __init__(
        self,
        graph: ReplayedGraph,
        known: Mapping[str, Any],
        states: Mapping[str, Any] | None = None,
    ) -> None:
        """With the `states` of the generator some nodes draw what they drew once."""
        self.graph = graph
        self.known = Values(known)
        self._states = states or {}

    def region(self, names: Iterable[str]) -> list[Row]:
        """The nodes between what is known and these; raises `NotRun` where there is none."""
        found: dict[str, Row] = {}
        waiting = [name for name in names if name not in self.known]
        # A value that changes is wanted as it is in the end.
        waiting += [one for n in waiting for one in self.graph.writes.all.get(n, ())]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            row = self.graph.by_name.get(name)
            if row is None or row.opcode == "placeholder":
                raise NotRun(f"nobody has the value of {name}")
            if is_random(row) and name not in self._states:
                raise NotRun(RANDOM)
            found[name] = row
            waiting += [n for n in self.graph.needs(row) if n not in self.known]
        order = self.graph.order
        return sorted(found.values(), key=lambda row: order[row.name])

    def value(self, name: str, mode: Mode) -> Any:
        """The value of a node, from what is known; raises `NotRun` where there is none."""
        return self.values([name], mode, is_all=False)[name]

    def values(
        self, names: Iterable[str], mode: Mode, *, is_all: bool = True
    ) -> Values:
        """The values of nodes, and, unless it is said that these are not wanted, of all
        between them and what is known.
        """
        names = list(names)
        made = Values(room=self.known.room)

        changing = self.graph.writes.changing

        def value(name: str) -> Any:
            if name not in made:
                given = self.known[name]
                if name in changing:
                    given = _own(given)
                elif mode is not Mode.MOVED:
                    return given
                made[name] = _in(given, mode, self.graph.order.get(name, 0))
            return made[name]

        rows = self.region(names)
        gone = _KEPT if is_all else _last_read(self.graph, rows, names)
        pinned = made.pinned() if changing else nullcontext()
        with alone(), rounding(mode), pinned:
            before = randomness()
            for row in rows:
                if row.name in self._states:
                    draw_from(self._states[row.name])
                run = attempt(
                    lambda row=row: self.graph.run(
                        row,
                        value,
                        in_double=mode is Mode.EXACT,
                        in_place=row.name in changing,
                    )
                )
                if row.name in self._states:
                    draw_from(before)
                if isinstance(run, Raised):
                    raise NotRun(
                        f"{row.name} cannot be computed: {raised_by(run.error)}"
                    )
                made[row.name] = run
                del run
                for name in gone.get(row.name, ()):
                    made.pop(name, None)
            if not any_torch.equal(before, randomness()):
                raise NotRun(RANDOM)
        found = Values(room=made.room)
        for name in (*names, *(row.name for row in rows)) if is_all else names:
            found[name] = value(name)
        return found


def rounding(mode: Mode) -> AbstractContextManager[Any]:
    """What operators round as in a mode."""
    return Otherwise() if mode is Mode.OTHERWISE else nullcontext()


def _in(value: Any, mode: Mode, seed: int) -> Any:
    if mode is not Mode.MOVED:
        return value

    def moved(one: Any) -> Any:
        return nudged(one, seed) if isinstance(one, torch.Tensor) else one

    return fx.node.map_aggregate(value, moved)


def formed(value: Any, mode: Mode, seed: int) -> Any:
    """A copy of an input in the numbers of a mode; what is no tensor is itself."""
    if not isinstance(value, torch.Tensor):
        return value
    own = copy_of(value)
    if mode in (Mode.OWN, Mode.OTHERWISE):
        return own
    return nudged(own, seed) if mode is Mode.MOVED else doubled(own)


def formed_all(
    names: Iterable[str],
    inputs: Mapping[str, Any],
    mode: Mode,
    order: Mapping[str, int] | None = None,
) -> Values:
    """Copies of these inputs, as `formed` makes one, with which to compute; they are moved
    by where the nodes stand.
    """
    made = Values(room=getattr(inputs, "room", None))
    for name in names:
        made[name] = formed(inputs[name], mode, (order or {}).get(name, 0))
    return made


def _last_read(
    graph: ReplayedGraph, rows: Sequence[Row], wanted: Iterable[str]
) -> Mapping[str, list[str]]:
    """By node, the values that nobody reads behind it, and that are not wanted."""
    last = {row.name: row.name for row in rows}
    last |= {used: row.name for row in rows for used in graph.uses(row)}
    found: dict[str, list[str]] = {}
    for name in last.keys() - {*wanted}:
        found.setdefault(last[name], []).append(name)
    return found


def _nothing(_name: str, _value: Any) -> None:
    """What is told of each node, where nobody asks."""


def compute(
    graph: ReplayedGraph,
    values: MutableMapping[str, Any],
    mode: Mode,
    ran: Callable[[str, Any], None] = _nothing,
    wanted: Iterable[str] | None = None,
) -> None:
    """Add to the values of its inputs those of all its nodes; raises `NotRun`.

    They are computed from the first to the last, so they may change values in place.
    `ran` is told of each, with what it gave. Where it is said which are `wanted`, the
    others go when nobody reads them any more: all together need more memory than there
    may be.
    """
    with _transforming(graph):
        _compute(graph, values, mode, ran, wanted)


def _compute(
    graph: ReplayedGraph,
    values: MutableMapping[str, Any],
    mode: Mode,
    ran: Callable[[str, Any], None],
    wanted: Iterable[str] | None,
) -> None:
    gone = _KEPT if wanted is None else _last_read(graph, graph.rows, wanted)
    for row in graph.rows:
        if row.opcode == "placeholder":
            continue

        def run(row: Row = row) -> Any:
            exactly = mode is Mode.EXACT
            return graph.run(row, values.__getitem__, in_double=exactly, in_place=True)

        pinned = values.pinned() if isinstance(values, Values) else nullcontext()
        with rounding(mode), pinned:
            found = attempt(run)
        if isinstance(found, Raised):
            raise NotRun(f"{row.name} cannot be computed: {raised_by(found.error)}")
        values[row.name] = found
        ran(row.name, found)
        del found
        for name in gone.get(row.name, ()):
            values.pop(name, None)


def seen_in(
    graph: ReplayedGraph, inputs: Mapping[str, Any], state: Any = None
) -> tuple[Mapping[str, Any], bool]:
    """What the inputs and nodes of a graph give, each at the moment when it ran, from this
    state of the generator; and whether it draws random numbers. Raises `NotRun`.
    """
    found: dict[str, Any] = {}

    def ran(name: str, value: Any) -> None:
        found[name] = copy_of(value) if is_plain(value) else value

    with alone():
        if state is not None:
            draw_from(state)
        before = randomness()
        values = formed_all(graph.inputs, inputs, Mode.OWN, graph.order)
        for name in graph.inputs:
            ran(name, values[name])
        compute(graph, values, Mode.OWN, ran)
        is_random = not any_torch.equal(before, randomness())
    return found, is_random


@contextmanager
def _transforming(graph: ReplayedGraph) -> Generator[None]:
    """Let a graph take gradients itself, as it does where the program runs it."""
    if not graph.transforming:
        yield
        return
    with leaving_transforms(), any_torch.enable_grad():
        yield


def raised_by(error: Exception) -> str:
    """What was raised, in a line; of ours, what it says."""
    if isinstance(error, NotRun):
        return str(error)
    lines = str(error).strip().splitlines()
    return (
        f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__
    )


@contextmanager
def alone() -> Generator[None]:
    """Compute something and leave no trace: neither in the generators nor in autograd."""
    state = randomness()
    mode = any_torch.is_grad_enabled()
    devices = ["cpu", *(["cuda"] if is_on_gpu() else [])]
    try:
        with any_torch.no_grad(), ExitStack() as off:
            for device in devices:
                off.enter_context(any_torch.autocast(device, enabled=False))
            yield
    finally:
        draw_from(state)
        any_torch.set_grad_enabled(mode)
