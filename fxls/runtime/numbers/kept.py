"""What is kept of one compilation: the graphs of its steps, and what it was called with."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from fxls.engine.origins.resolve import RawOrigin
from fxls.record import Pass
from fxls.rules import Rule
from fxls.runtime.numbers.defaults import Defaults
from fxls.runtime.numbers.raisers import Raiser
from fxls.runtime.numbers.room import NoRoom, Room, Slot, Values, value_of
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.producers.steps import Step
from fxls.runtime.torch_private import version_of
from fxls.verdicts.comparison import Kind

if TYPE_CHECKING:
    from fxls.runtime.numbers.as_python.asking import Asked

__all__ = [
    "Behind",
    "Change",
    "Copies",
    "Crash",
    "Decomposed",
    "KeptCall",
    "KeptCompilation",
    "Later",
    "Lowered",
]


any_torch: Any = torch

_MOST_SIZES = 3
"""So many calls are kept because their inputs have other sizes, with the first."""


@dataclass(slots=True, eq=False)
class KeptCall:
    """The first call of something compiled, or a later one."""

    names: Sequence[str]
    """Of its inputs, in order."""
    values: Values = field(default_factory=Values)
    """Copies of the inputs, as they were before the call."""
    outputs: tuple[Any, ...] | None = None
    """Copies of what it returned, flat, where they are wanted, as a room holds them."""
    shares_memory: bool = False
    """Whether two inputs may share memory; their copies do not."""
    left: Values | None = None
    """Copies of the inputs that are others behind the call, where that is known."""
    why_not: str = ""
    """Why there are no values, as a clause."""
    is_backward: bool = False
    happened: bool = False
    raised: str = ""
    """What the call raised, in a line."""
    randomness: Any = None
    """The state of the generator before the call, where what it returned is kept."""
    has_backward: bool = False
    """Whether gradients of what it returned were asked for."""
    leading_nowhere: tuple[int, ...] = ()
    """Which of its outputs lead no gradient back, where gradients are noted."""
    found: Rule | None = None
    """What is in something that the call returned, where that was asked for."""
    count: int = 0
    """How often it was called."""
    python: Asked | None = None
    """What Python computes in its place, where that was asked."""
    again: dict[int, KeptCall] = field(default_factory=dict[int, "KeptCall"])
    """Some of the calls behind the first one, by which call each is."""

    def forget(self, copies: Copies) -> None:
        """Be as before any call, so that another one is kept."""
        left = self.left or Values()
        copies.give_back(
            [*self.values.all_held(), *(self.outputs or ()), *left.all_held()]
        )
        self.values, self.outputs, self.left, self.found = Values(), None, None, None
        self.python = None
        self.leading_nowhere = ()
        self.why_not = self.raised = ""
        self.happened = self.has_backward = False


@dataclass(frozen=True, slots=True)
class Crash:
    """A step of a compilation that raised, so that there is no code."""

    kind: Kind
    stage: str
    name: str
    ordinal: int
    raised: str
    """In a line."""
    state: GraphState | None = None
    node: str = ""
    """Of that graph, the one that was worked on; empty where nobody knows."""
    confirmed: str = "no step before it raised"
    """How it is known that nobody else is at fault."""
    before: GraphState | None = None
    """The graph that runs, where a step made of it the one that does not."""
    raises: str = ""
    """The node that raises when that one is run."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of inductor while it compiled, where they are not the usual ones."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the nodes gave that could be run; where nothing was called, what torch noted."""
    raisers: Sequence[Raiser] = ()
    """The functions of the program that raised it, the outermost first."""
    given: GraphState | None = None
    """The graph that the step was given."""


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A pass that changed a graph."""

    step: Step
    told: Pass
    before: GraphState
    after: GraphState


@dataclass(frozen=True, slots=True, eq=False)
class Decomposed:
    """An operator, and the nodes that it fell into."""

    operator: Any
    args: Any
    """With nodes in the place of traced values."""
    kwargs: Any
    result: Any
    """The nodes of its values."""


@dataclass(slots=True, eq=False)
class Lowered:
    """A graph that inductor made code of."""

    call: KeptCall
    is_backward: bool
    state: GraphState | None = None
    """The graph that code was made of."""
    buffers: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    path: str = ""
    """The file of the code that calls the kernels."""
    run: Callable[[list[Any]], Any] | None = None
    why_not: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of inductor while it compiled, where they are not the usual ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """A graph of AOTAutograd that something else than torch's own compilers compiled."""

    name: str
    """Of what compiled it."""
    call: KeptCall
    is_backward: bool
    before: GraphState
    """The graph that it was given."""
    after: GraphState
    """The same when it was done."""


class Later:
    """Which calls of a function are kept behind the first one.

    They are two with other sizes; one with an input that has at least twice as many
    elements as in any of these, and one with half as many, of which the next such call
    takes the place; and of all others the second, the fourth, the eighth and so on, of
    which each takes the place of the one before.
    """

    def __init__(self) -> None:
        self.copies: dict[int, Copies] = {}
        """What is kept of each, by which call it is."""
        self.wanted = 0
        """The call that runs, if it is kept; else 0."""
        self._sizes: set[Any] = set()
        self._counts: list[tuple[int, int]] = []
        """The fewest and the most elements of each input, in the calls that are kept."""
        self._latest: dict[str, int] = {}
        """By why a call is kept in the place of another one, the call."""

    def ask(self, count: int, given: Sequence[Any], copies: Copies) -> int:
        """Decide of a call; returns the one in whose place it is kept, or 0."""
        sizes = tuple(getattr(one, "shape", None) for one in given)
        counts = [_elements(size) for size in sizes]
        is_new = sizes not in self._sizes and len(self._sizes) < _MOST_SIZES
        why = self._why(count, counts)
        gone = 0
        if is_new:
            self._sizes.add(sizes)
        elif why:
            gone, self._latest[why] = self._latest.get(why, 0), count
        self.wanted = count if count > 1 and (is_new or why) else 0
        if is_new or why:
            before = self._counts or [(one, one) for one in counts]
            self._counts = [
                (min(least, one), max(most, one))
                for (least, most), one in zip(before, counts, strict=True)
            ]
        if gone:
            self.copies.pop(gone).end()
        if self.wanted:
            self.copies[count] = copies.again()
        return gone

    def _why(self, count: int, counts: Sequence[int]) -> str:
        """Why a call is kept in the place of another one; empty where it is not."""
        both = [*zip(counts, self._counts, strict=False)]
        if any(one >= 2 * most > 0 for one, (_, most) in both):
            return "large"
        if any(0 < 2 * one <= least for one, (least, _) in both):
            return "small"
        return "often" if count & (count - 1) == 0 else ""


@dataclass(slots=True, eq=False)
class KeptCompilation:
    """All that is kept of a compilation, under the record's name of it."""

    name: str
    stage: str
    backend: str
    is_torchs: bool
    """Whether the backend comes with torch."""
    captured: GraphState
    call: KeptCall
    given_on: GraphState | None = None
    """The captured graph as the backend gave it on, where it can be seen."""
    traced: GraphState | None = None
    traced_stage: str = ""
    decomposed: list[Decomposed] = field(default_factory=list[Decomposed])
    changes: list[Change] = field(default_factory=list[Change])
    calls: list[KeptCall] = field(default_factory=list[KeptCall])
    """Of the graphs behind AOTAutograd."""
    lowered: list[Lowered] = field(default_factory=list[Lowered])
    behind: list[Behind] = field(default_factory=list[Behind])
    crash: Crash | None = None
    is_without_cuda_graph: bool = False
    """Whether the program would have put its kernels into a CUDA graph."""
    later: Later = field(default_factory=Later)
    called_by: RawOrigin | None = None
    """Where the program called it first."""
    defaults: Defaults = field(default_factory=Defaults.now)
    """What was set when it was compiled, and at each of its calls."""

    @property
    def is_in_cuda_graph(self) -> bool:
        """Whether its backend puts all that it calls into a CUDA graph: copies of values
        would lie in the memory of the graph, and torch ends a program that has others
        there than its outputs.
        """
        is_of_graphs = self.backend in ("cudagraphs", "CudagraphsBackend")
        return is_of_graphs and any_torch.cuda.is_initialized()

    def of_call(self, count: int) -> KeptCompilation:
        """The same, of a later call that was kept."""

        def other(call: KeptCall) -> KeptCall:
            return call.again.get(count) or KeptCall(call.names)

        return replace(
            self,
            call=other(self.call),
            calls=[other(one) for one in self.calls],
            lowered=[replace(one, call=other(one.call)) for one in self.lowered],
            behind=[replace(one, call=other(one.call)) for one in self.behind],
        )

    @property
    def found(self) -> Rule | None:
        """What is in something that a call returned, and no call before."""
        return next((one.found for one in (self.call, *self.calls) if one.found), None)


class Copies:
    """Copies of tensors, within a bound of memory: the rest of them is in a file."""

    def __init__(self, most_bytes: int, room: Room | None = None) -> None:
        self.most_bytes = most_bytes
        self.left = most_bytes
        self.room = room or Room(most_bytes)
        self._known: dict[int, tuple[Any, int, Any]] = {}
        self._taken: Counter[int] = Counter()
        """How often each copy was given out, by its id."""
        self._of: Copies | None = None

    def again(self) -> Copies:
        """Copies that can end together, of at most a quarter of what is left: there are
        none of them in a file.
        """
        made = Copies(max(self.left, 0) // 4, self.room)
        made._of, made._known = self, dict(self._known)
        return made

    def end(self) -> None:
        """Let go of all that was copied here."""
        if self._of is not None:
            self._of.left += self.most_bytes - self.left
        self.left = self.most_bytes

    def take(self, values: Sequence[Any]) -> list[Any] | str:
        """Copies of these, as a room holds them; why there are none where one cannot be
        copied.
        """
        made: list[Any] = []
        for value in values:
            if not isinstance(value, torch.Tensor):
                made.append(value)
                continue
            why = _uncommon(value)
            if why:
                return why
            try:
                known = self._copied(value)
            except NoRoom as none:
                self.give_back(made)
                return str(none)
            self._taken[id(known)] += 1
            made.append(known)
        return made

    def give_back(self, copies: Sequence[Any]) -> None:
        """Count copies no more that were taken, and that nobody has a use for."""
        for one in copies:
            if not isinstance(one, torch.Tensor | Slot) or not self._taken[id(one)]:
                continue
            self._taken[id(one)] -= 1
            if not self._taken[id(one)]:
                del self._taken[id(one)]
                self.left += one.nbytes
                self._known = {
                    key: known
                    for key, known in self._known.items()
                    if known[2] is not one
                }

    def _copied(self, value: torch.Tensor) -> Any:
        version = version_of(value)
        known = self._known.get(id(value))
        if (
            known is not None
            and known[0]() is value
            and known[1] == version >= 0
            # A module that is moved to another dtype keeps its parameters.
            and _has_form_of(value_of(known[2]), value)
            # What a compiled graph changes without autograd, no version counts.
            and any_torch.equal(value_of(known[2]), value)
        ):
            return known[2]
        size = value.nbytes
        if self._of is not None and size > self.left:
            raise NoRoom(f"the budget of {self.most_bytes >> 20} MB is used up")
        copy = self.room.hold(copy_of(value))
        self.left -= size
        if self._of is not None:
            self._of.left -= size
        self._known[id(value)] = weakref.ref(value), version, copy
        return copy


def _has_form_of(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (one.dtype, one.device, one.shape, one.stride()) == (
        *(other.dtype, other.device, other.shape, other.stride()),
    )


def copy_of(value: torch.Tensor) -> torch.Tensor:
    """A tensor of one's own, with the same strides, which compiled code counts on."""
    value = value.detach()
    with torch.no_grad():
        if value.numel() and value.layout is torch.strided and not _is_dense(value):
            ends = zip(value.shape, value.stride(), strict=True)
            extent = 1 + sum((size - 1) * stride for size, stride in ends)
            whole = value.as_strided((extent,), (1,)).clone()
            return whole.as_strided(value.shape, value.stride(), 0)
        return value.clone(memory_format=torch.preserve_format)


def _elements(size: Any) -> int:
    """How many elements a value of this size has; 0 of one without a size of numbers."""
    numbers: list[Any] = [] if size is None else [*size]
    is_known = size is not None and all(isinstance(one, int) for one in numbers)
    return math.prod(numbers) if is_known else 0


def _is_dense(value: torch.Tensor) -> bool:
    """Whether a clone of a tensor has its strides."""
    expected = 1
    for stride, size in sorted(zip(value.stride(), value.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _uncommon(value: torch.Tensor) -> str:
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"an input is a {type(value).__name__}, of which fxls knows too little"
    if value.layout is not torch.strided or value.is_quantized:
        return "an input is sparse or quantized"
    return ""
