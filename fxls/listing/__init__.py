"""The listing: the generated code of one graph as a plain value.

The listing is the one value that crosses from the user's process to the server.
Nothing here imports torch, the engine or the protocol.

Tables (`sources`, `frames`, `scopes`) are shared by index, because every node of a
deep model repeats the same outer frames; the methods of `Listing` put them together.
"""

from __future__ import annotations

import enum
import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import Annotated

import msgspec

from fxls.repairs import Repair
from fxls.text import Point, Span

__all__ = [
    "KERNELS",
    "PIPELINE",
    "About",
    "Facts",
    "Failure",
    "Frame",
    "HeadLink",
    "How",
    "Identity",
    "Items",
    "Listing",
    "Mark",
    "Origin",
    "Parent",
    "Pieces",
    "Place",
    "Plain",
    "Reason",
    "Role",
    "Scope",
    "Source",
    "Target",
    "Tensor",
    "ToClass",
    "ToLine",
    "ToParent",
    "Value",
    "is_compilation",
    "source_digest",
]

_Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""What the protocol can say of a line or a column."""

_Index = _Natural

Pieces = tuple[str | _Index, ...]
"""A written argument: text, and the index of a node wherever one stands in it."""


class Role(enum.IntEnum):
    """What a name does where it stands."""

    BINDS = 0
    READS = 1
    FREES = 2
    """The name is set to None behind its last use, so that its value can be freed."""


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A span of the text, on one line, that names a node."""

    line: _Natural
    column: _Natural
    length: _Natural
    node: _Natural
    role: Role

    def __post_init__(self) -> None:
        """A moment at which another thread may run: `sidecar` decodes many in one call."""

    @property
    def span(self) -> Span:
        return Span.of(self.line, self.column, self.line, self.column + self.length)


class Place(msgspec.Struct, frozen=True):
    """An expression in a file, and the function whose code it is part of.

    `span` is the whole expression, or the whole line where Python kept no columns.
    """

    path: str
    function: str
    span: Span


class Origin(msgspec.Struct, frozen=True):
    """Where in the source a node came from.

    - Never empty; innermost first: `places[0]` made the node, the last one is in the
      function that was traced.
    - Frames of torch and of fxls are left out.
    """

    places: tuple[Place, ...]


class Source(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that frames point into, or in which the entry was evaluated; `digest` tells
    whether it changed since.
    """

    path: str
    digest: str


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One row of the frame table: a place, and the frame that called it."""

    source: _Index
    function: str
    line: _Natural
    column: _Natural
    end_line: _Natural
    end_column: _Natural
    caller: _Index | None = None

    @property
    def span(self) -> Span:
        return Span.of(self.line, self.column, self.end_line, self.end_column)


class Scope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One row of the module table: a submodule that was being called."""

    path: str
    """The qualified name, as `get_submodule` takes it; empty for the root."""
    type: str
    """The qualified name of the submodule's class."""
    parent: _Index | None = None
    file: str | None = None
    """Where the class is defined."""
    parameters: int | None = None
    """How many numbers those parameters of it hold that the graph uses."""


class Target(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One row of the target table: what every node with this target calls."""

    name: str
    """By which a program imports it: ``torch.nn.functional.relu``,
    ``torch.Tensor.view``, ``torch.nn.Linear``."""
    signature: str = ""
    """``(input, dim=0)``; empty where nobody knows."""
    file: str | None = None
    """Where it is defined, unless it is compiled."""
    line: int = 0


class Tensor(msgspec.Struct, frozen=True, tag="tensor", gc=False):
    """What is known of a tensor; a symbolic size stands as its expression."""

    shape: tuple[int | str, ...]
    dtype: str
    device: str
    stride: tuple[int | str, ...] | None = None
    bytes: int | None = None
    requires_grad: bool = False


class Items(msgspec.Struct, frozen=True, tag="items", gc=False):
    """What is known of a tuple, list or dict; `keys` is given for a dict alone."""

    kind: str
    items: tuple[Value, ...]
    keys: tuple[str, ...] | None = None


class Plain(msgspec.Struct, frozen=True, tag="plain", gc=False):
    """Any other value, as Python writes it, and the name of its class."""

    text: str
    kind: str


Value = Tensor | Items | Plain


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What is known of one node."""

    name: str
    opcode: str
    target: str
    """As `str(graph)` writes it: ``operator.add``, ``layer1.0.conv1``, ``view``."""
    line: _Natural
    """The line of the text whose statement the node is."""
    args: tuple[Pieces, ...] = ()
    kwargs: tuple[tuple[str, Pieces], ...] = ()
    users: tuple[_Index, ...] = ()
    scope: _Index | None = None
    origin: _Index | None = None
    value: Value | None = None
    type: str | None = None
    """The annotation the node carries."""
    detail: str | None = None
    """For call_module: the submodule's ``repr``; for get_attr: the attribute's; for a
    placeholder that is a parameter or a buffer: its path in the program."""
    call: _Index | None = None
    """The row of the target table."""
    impure: bool = False
    """Whether it does anything besides giving a value, so that it is never dead."""
    passes: tuple[str, ...] = ()
    """The passes that made it, the last one first; empty for a node as captured."""
    more_origins: tuple[_Index, ...] = ()
    """The rows of its other origins, for a node that was made from several nodes."""
    width: int | None = None
    """For call_module: how many features a Linear, or channels a convolution, gives."""
    made_from: tuple[str, ...] = ()
    """The nodes that the last of its passes made it from, as they were called then."""

    def __post_init__(self) -> None:
        """As of `Mark`."""


class Identity(msgspec.Struct, frozen=True):
    """The stable logical name of what a person follows from revision to revision."""

    module: str
    """The importable name of the source's module; never ``__main__``."""
    qualname: str
    """The qualified name of the class (or function) whose forward was generated."""
    producer: str = "engine"
    stage: str = ""
    """The pass that made the graph; empty for the graph as it was captured."""
    rank: int | None = None

    @property
    def class_name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def graph(self) -> str:
        """The stage of the captured graph that this is a stage of; a graph that was
        captured once more, by a recompilation, is another one.
        """
        first, *others = self.stage.split(", ")
        again = others[:1] if others and is_compilation(others[0]) else []
        return ", ".join((first, *again))

    @property
    def steps(self) -> tuple[str, ...]:
        """What the stage says of the way from the captured graph; nothing for that."""
        rest = self.stage[len(self.graph) :]
        return tuple(rest.removeprefix(", ").split(", ")) if rest else ()


def is_compilation(part: str) -> bool:
    """Whether a part of a stage says that the graph was captured once more."""
    return part.startswith("compilation ")


KERNELS = "kernels"
"""The stage of the code that a compiler wrote for a graph."""

PIPELINE = (
    *("pre-grad", "traced", "joint", "forward", "backward", "post-grad"),
    *(KERNELS, "of the backend"),
)
"""What a compiler makes of a captured graph, in its order, as stages name it."""


class How(enum.Enum):
    """How a graph comes from the one that it was made from."""

    PASSES = "passes"
    """Passes made it, of all of its parent or of a part."""
    CALLED = "called"
    """It is a part of its parent, which calls it."""
    HOLDS = "holds"
    """It is the module of an exported program, and holds what its parent is given."""


class Parent(msgspec.Struct, frozen=True, array_like=True):
    """A listing that another one was made from."""

    identity: Identity
    file: str
    """The name of the file of its text, which lies in the same store."""
    how: How = How.PASSES


class ToClass(msgspec.Struct, frozen=True, tag="class"):
    """A link to the class, or the function, whose forward was generated."""


class ToParent(msgspec.Struct, frozen=True, tag="parent"):
    """A link to a listing that this one was made from."""

    file: str
    """As of `Parent`."""


class ToLine(msgspec.Struct, frozen=True, tag="line"):
    """A link to the line of a source behind which the graph ends."""

    path: str
    line: _Natural


class About(enum.Enum):
    """What a remark is about."""

    BREAK = "break"
    RECOMPILATION = "recompilation"
    INSTEAD = "instead"
    """Another producer was asked first, and failed."""


class Remark(msgspec.Struct, frozen=True, array_like=True):
    """What is to be said of a graph besides its code: that it ends early, was compiled
    again, or stands for one that another producer could not make.
    """

    about: About
    reason: str
    """In a line."""


class HeadLink(msgspec.Struct, frozen=True, array_like=True):
    """A span of the head, the comment above the code, that leads somewhere."""

    line: _Natural
    column: _Natural
    length: _Natural
    to: ToClass | ToParent | ToLine

    @property
    def span(self) -> Span:
        return Span.of(self.line, self.column, self.line, self.column + self.length)


class Listing(msgspec.Struct, frozen=True):
    """The generated code of one graph: text, marks and facts.

    - `marks` are in the order of the text and do not overlap.
    - `nodes` are in the order of the graph; a node is named by its index in it.
    """

    identity: Identity
    text: str
    definition: _Natural
    """The line of ``def forward``."""
    marks: tuple[Mark, ...]
    nodes: tuple[Facts, ...]
    sources: tuple[Source, ...] = ()
    frames: tuple[Frame, ...] = ()
    scopes: tuple[Scope, ...] = ()
    entry: str | None = None
    """The expression that built the model, when one did."""
    parameters: int | None = None
    """How many numbers the parameters of the module hold."""
    targets: tuple[Target, ...] = ()
    parents: tuple[Parent, ...] = ()
    """What it was made from, and what that was made from: the nearest first; empty for
    a graph as it was captured, and where nobody noted it."""
    links: tuple[HeadLink, ...] = ()
    """What the head of the text names that can be shown."""
    computes_gradients: bool = False
    """Whether it is the backward of another graph, which begins with what ran last."""
    remarks: tuple[Remark, ...] = ()
    """What the compiler says of it, which its head says to people."""
    entry_source: _Index | None = None
    """The row of the file in whose namespace the entry was evaluated, where known."""
    without_kernel: tuple[tuple[str, str], ...] = ()
    """For code of a compiler, the nodes of the graph before it that no kernel computes,
    each with what it is: ``view``, ``constant``, ``size``, ``part`` or ``other``."""

    @property
    def entry_path(self) -> str | None:
        """The file in whose namespace the entry was evaluated; None for nobody knows."""
        row = self.entry_source
        return None if row is None else self.sources[row].path

    def mark_at(self, point: Point) -> Mark | None:
        """The mark a cursor at `point` is on; of two that meet there, the right one."""
        at = bisect_right(
            self.marks, (point.line, point.column), key=lambda m: (m.line, m.column)
        )
        if at and self.marks[at - 1].span.touches(point):
            return self.marks[at - 1]
        return None

    def marks_of(self, node: int) -> tuple[Mark, ...]:
        """Every mark of a node, in the order of the text."""
        return tuple(mark for mark in self.marks if mark.node == node)

    def binding(self, node: int) -> Mark | None:
        """The mark that binds a node; None for the output, which has no name."""
        for mark in self.marks:
            if mark.node == node and mark.role is Role.BINDS:
                return mark
        return None

    def places(self, frame: int | None) -> Iterator[Place]:
        """The places of a frame and its callers, innermost first."""
        while frame is not None:
            row = self.frames[frame]
            yield Place(self.sources[row.source].path, row.function, row.span)
            frame = row.caller

    def origin(self, node: int) -> Origin | None:
        """Where a node came from; None when nobody knows."""
        places = tuple(self.places(self.nodes[node].origin))
        return Origin(places) if places else None

    def digest_of(self, path: str) -> str:
        """That of a source when this was made; empty when it has nothing of the file."""
        return next((one.digest for one in self.sources if one.path == path), "")

    def origins(self, node: int) -> tuple[Origin, ...]:
        """Everything that a node came from; `origin` first."""
        facts = self.nodes[node]
        chains = (
            tuple(self.places(row)) for row in (facts.origin, *facts.more_origins)
        )
        return tuple(Origin(places) for places in chains if places)

    def module_path(self, node: int) -> tuple[Scope, ...]:
        """The submodules that were being called when a node was made, outermost first."""
        path: list[Scope] = []
        scope = self.nodes[node].scope
        while scope is not None:
            path.append(self.scopes[scope])
            scope = self.scopes[scope].parent
        return tuple(reversed(path))


class Reason(enum.Enum):
    """Why there is no listing."""

    NOT_FOUND = "not-found"
    """The file does not exist or cannot be read."""
    SYNTAX = "syntax"
    IMPORT = "import"
    """The file raised while it was imported."""
    ENTRY = "entry"
    """The entry is not an expression, or raised while it was evaluated."""
    NOT_A_MODULE = "not-a-module"
    """The entry's value is no module (nor a function)."""
    TRACE = "trace"
    """The forward cannot be traced."""
    RUN = "run"
    """The listing was made, but running it on the example inputs raised."""
    EXITED = "exited"
    """The code called ``sys.exit``, or its process died."""
    TIME = "time"
    """It took longer than the time limit."""
    MEMORY = "memory"
    STORE = "store"
    """The listing could not be written."""
    WORKER = "worker"
    """The process that runs the user's code did not start, or was lost."""
    STALE = "stale"
    """The listing is not what the source gives any more."""
    STOPPED = "stopped"
    """Nobody waits for it any more: it was cancelled, or a later request replaced it.
    """


class Failure(msgspec.Struct, frozen=True):
    """The user's trouble, as a value: what happened, where, and what to do.

    `places` are innermost first; empty when no line of the user's is to blame.
    """

    reason: Reason
    message: str
    places: tuple[Place, ...] = ()
    advice: str | None = None
    """What would make it work, as a sentence."""
    repairs: tuple[Repair, ...] = ()
    """What of it an editor can do."""
    instead: str | None = None
    """The producer that captured the model all the same, as people call it."""
    others: tuple[Failure, ...] = ()
    """Why those who were tried after this one failed as well."""


def source_digest(content: bytes) -> str:
    """The digest of the bytes of a source, as `Source` holds it."""
    return hashlib.sha256(content).hexdigest()[:16]
