"""What a comparison of a compiled program with itself found: where its numbers go wrong.

It crosses from the process of the program to the command line, as MessagePack: JSON has
no infinity, and a value that should be finite and is not is infinitely far away.
"""

from __future__ import annotations

import enum
import math

import msgspec

from fxls.listing import Place

__all__ = [
    "Comparison",
    "Evidence",
    "Fault",
    "Finding",
    "Kind",
    "Reproducer",
    "Unseen",
    "Where",
    "decode",
    "encode",
    "gives",
    "off",
    "what",
    "who",
]


class Kind(enum.StrEnum):
    """Who is at fault."""

    CAPTURE = "capture"
    """Dynamo, whose graph does not compute what Python does."""
    BACKEND = "backend"
    TRACE = "trace"
    """What AOTAutograd traced of a captured graph."""
    PASS = "pass"
    DECOMPOSITION = "decomposition"
    PARTITION = "partition"
    FAKE = "fake"
    """The fake kernel of an operator of the program's, which compilers go by."""
    KERNEL = "kernel"
    UNKNOWN = "unknown"
    """The compiled function is wrong, and every place that was looked at is right."""


class Evidence(msgspec.Struct, frozen=True):
    """Why a value was judged to be wrong."""

    dtype: str
    shape: tuple[int, ...]
    error: float
    """The largest distance from what float64 gives for the same inputs; infinite where
    a value is not finite that should be."""
    usual: float
    """The same distance of what the node gives as it was before, in its own dtype."""
    allowed: float
    """The largest distance that precision explains."""
    scale: float
    """The largest value that float64 gives."""
    reason: str
    sides: tuple[str, ...] = ()
    """Where both differ most: what should be there, in its own dtype, what is there, and
    the place, as ``[3, 0]``; empty where nothing differs."""
    beside: str = "float64"
    """Who gives what the value is compared with: float64, Python, or a graph."""


class Where(msgspec.Struct, frozen=True):
    """A node of a graph, and where the program has the expression that it came from."""

    node: str
    target: str
    places: tuple[Place, ...] = ()
    """Innermost first; empty where nothing is known."""
    is_instead: bool = False
    """Whether the places are those of the value that the node is to compute, as what made
    it noted none."""
    backward_of: str = ""
    """Of a node that computes gradients: through which node of the captured graph."""
    submodule: str = ""
    """Which one was called, as ``0.act (ReLU)``; for a root its class alone."""
    is_call: bool = False
    """Whether its place is where the program calls what was compiled, as its expression
    is torch's own."""


class Fault(msgspec.Struct, frozen=True):
    """A place behind which numbers are wrong that are right before it."""

    kind: Kind
    compilation: str
    stage: str
    """The graph, as `fxls list` names it."""
    name: str
    """Of the pass, the backend, the operator that is decomposed, or the kernel."""
    ordinal: int
    """Which of the passes of that name it is; 1 for all else."""
    where: tuple[Where, ...]
    """The nodes of which one is wrong; mostly it is one."""
    evidence: Evidence
    confirmed: str
    """How it is known that the function returns something else because of it."""
    raised: str = ""
    """What it raised, in a line, where it computed nothing: then there is no evidence."""
    gradient_of: str = ""
    """Of which value the gradient is wrong that the nodes lead back to, where each value
    is right; the evidence is that of the gradient."""
    overwritten: str = ""
    """What the forward overwrites before the nodes, which are of the backward, read it."""
    gradients: tuple[str, ...] = ()
    """Of which inputs the gradients are others because of it, as the program calls them."""
    computed_by: tuple[str, ...] = ()
    """The nodes of the traced graph that compute the gradient of `gradient_of`."""


class Finding(msgspec.Struct, frozen=True):
    """A node that gives NaN or infinity of inputs without any, as the program says it."""

    compilation: str
    stage: str
    """The graph, as `fxls list` names it."""
    rule: str
    where: Where
    said: str
    """``1 of 4 is NaN``."""
    given: tuple[str, ...]
    """What it reads, each as ``name: value`` in brief."""
    is_input: bool = False
    """Whether the graph was given it, so that it is none of its nodes that makes it."""


class Unseen(msgspec.Struct, frozen=True):
    """What nobody looked at, and why."""

    compilation: str
    stage: str
    what: str
    why: str
    is_suspect: bool = False
    """Whether a value of it is wrong, though nobody can tell that it matters."""


class Reproducer(msgspec.Struct, frozen=True):
    """A script that may show the first fault, and that nobody has run."""

    claim: str
    """What it shows, as a sentence."""
    text: str
    """Without its first lines, which say the claim and how sure it is."""
    nodes: int
    """How many nodes it computes: of the longer one, where it has two graphs."""
    compiles: bool
    """Whether it compiles, or runs two graphs as they are."""
    inputs: str
    """Where its inputs are from, as a clause."""
    torch: str
    """The version of torch that made it."""
    shows: str = ""
    """How it is shown, as a sentence."""


class Comparison(msgspec.Struct, frozen=True):
    """What came of looking at all that a program compiled."""

    schema: int
    faults: tuple[Fault, ...]
    """In the order of the compiler's steps: the first is the one to look at."""
    unseen: tuple[Unseen, ...]
    graphs: int
    """How many captured graphs were called."""
    passes: int
    """How many changes of graphs were judged."""
    decompositions: int
    kernels: int
    """How many values that compiled code keeps were judged."""
    more_compilations: int
    """How many graphs were compiled that the program does not compile."""
    unjudged: int
    """Of how many of these graphs nothing could be judged, or not a step for which what
    the function returned does not vouch."""
    seconds: float
    raised: str | None = None
    """What the program ended with, where that was an error."""
    reproducers: tuple[Reproducer, ...] = ()
    """The scripts that may show the first fault, the shortest first, where they are asked
    for."""
    no_reproducer: str = ""
    """Why there is none, as a clause."""
    findings: tuple[Finding, ...] = ()
    """What breaks a rule that was asked for, and is no step's of the compiler."""

    @property
    def is_found(self) -> bool:
        """Whether somebody is known to be at fault."""
        is_blamed = any(one.kind is not Kind.UNKNOWN for one in self.faults)
        return is_blamed or bool(self.findings)

    @property
    def is_clear(self) -> bool:
        """Whether the program was looked at, and nothing in it is suspect."""
        seen = self.graphs and not self.unjudged and self.raised is None
        return (
            bool(seen)
            and not self.faults
            and not any(one.is_suspect for one in self.unseen)
        )


SCHEMA = 1
"""The version of the object; another number means that a key has another meaning."""


def who(fault: Fault) -> str:
    """``the pass reinplace (2)``: who is at fault."""
    ordinal = f" ({fault.ordinal})" if fault.ordinal > 1 else ""
    if not fault.name and fault.kind is Kind.KERNEL:
        return "inductor"
    return f"{_WHO[fault.kind]} {fault.name}{ordinal}".strip()


def what(fault: Fault) -> str:
    """``relu is wrong``, or ``the gradient of x through relu is wrong``: what is."""
    nodes = [where.node for where in fault.where]
    if fault.raised:
        return f"it raises {fault.raised}"
    named = nodes[0] if len(nodes) == 1 else f"one of {', '.join(nodes)}"
    if fault.gradient_of:
        through = f" through {named}" if nodes else ""
        return f"the gradient of {fault.gradient_of}{through} is wrong"
    if fault.overwritten:
        return f"the backward reads {fault.overwritten} when it is overwritten already"
    if not nodes:
        return "what the function returns is wrong"
    of = list(dict.fromkeys(where.backward_of for where in fault.where))
    half = f", in the backward of {' and '.join(of)}" if all(of) else ""
    return f"{named} is wrong{half}"


def gives(found: Finding) -> str:
    """``nan: log gives it, 1 of 4 is NaN``: what breaks a rule."""
    if found.is_input:
        return f"{found.rule}: its input {found.where.node} has it, {found.said}"
    of = found.where.backward_of
    half = f", in the backward of {of}" if of else ""
    return f"{found.rule}: {found.where.node} gives it{half}, {found.said}"


def off(evidence: Evidence) -> str:
    """How far a value is off, and how far it might be; the reason, where that is no
    distance of numbers, as of a value of another shape.
    """
    is_distance = evidence.allowed or evidence.scale or not math.isinf(evidence.error)
    if evidence.reason and not is_distance:
        return evidence.reason
    return (
        f"off by {evidence.error:.3g} from {evidence.beside}, where"
        f" {evidence.allowed:.3g} is explained by precision"
    )


_WHO = {
    Kind.CAPTURE: "Dynamo",
    Kind.TRACE: "the trace of",
    Kind.BACKEND: "the backend",
    Kind.PASS: "the pass",
    Kind.DECOMPOSITION: "the decomposition of",
    Kind.PARTITION: "the",
    Kind.FAKE: "the fake kernel of",
    Kind.KERNEL: "the compiled code of",
    Kind.UNKNOWN: "somebody in",
}


def encode(comparison: Comparison) -> bytes:
    """The comparison as bytes."""
    return msgspec.msgpack.encode(comparison)


def decode(text: bytes) -> Comparison:
    """What `encode` wrote; raises ValueError for all else."""
    return msgspec.msgpack.decode(text, type=Comparison)
