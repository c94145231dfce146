"""The record of a run: what a compiler did, could not do, and why, as plain values.

Beside the listing, the record is what crosses from the user's process to the server. It
is a row of events, and the first of them says which run it is. Nothing here imports
torch, the engine or the protocol.

An encoded event is one line of JSON. Who reads one skips fields and kinds that it does
not know, so that adding one leaves `SCHEMA` as it is.
"""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec

from fxls.encodable import encoded
from fxls.formats import other_format
from fxls.record.parts import (
    MOST_NAMES,
    Guard,
    JudgedValue,
    MatchedPattern,
    Names,
    Natural,
    Pairs,
    QuotedPlace,
    RevisionName,
    names,
    pairs,
)
from fxls.repairs import Check

__all__ = [
    "MOST_IN_LINE",
    "MOST_NAMES",
    "ON_REQUEST",
    "OUTSIDE",
    "SCHEMA",
    "Cause",
    "Compilation",
    "Counts",
    "End",
    "Entry",
    "Event",
    "Guard",
    "Guards",
    "InBlob",
    "Judged",
    "JudgedValue",
    "Made",
    "MatchedPattern",
    "Names",
    "Outcome",
    "Pairs",
    "Pass",
    "QuotedPlace",
    "RecordError",
    "Remark",
    "RevisionName",
    "Run",
    "Searched",
    "Spent",
    "Subject",
    "Truncated",
    "decode",
    "decode_run",
    "encode",
    "kind_of",
    "names",
    "pairs",
]

SCHEMA = 1
"""The version of the encoding; a reader refuses a newer one."""

MOST_IN_LINE = 16_000
"""A line is shorter than that; a longer event lies in a file of its own."""

OUTSIDE = "(outside of any pass)"
"""Stands for the name where a graph changed between two passes of one step."""

_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class Run(msgspec.Struct, frozen=True, omit_defaults=True, tag="run", tag_field="kind"):
    """One process of a program under fxls: the first event of each record."""

    schema: int
    id: str
    launch: str
    """Equal for all processes that one program, or a launcher of ranks, started."""
    pid: int
    start: float
    """In seconds since 1970."""
    program: str | None = None
    """The file of the program; None where there is none."""
    arguments: tuple[str, ...] = ()
    parent: str | None = None
    """The run that started this one."""
    rank: int | None = None
    world_size: int | None = None
    boot: str = ""
    """Equal for as long as the machine was not started again; empty where unknown."""
    host: str = ""
    versions: dict[str, str] = {}
    commit: str | None = None
    """That of the sources in git."""
    is_dirty: bool | None = None
    """Whether the sources were changed since the commit."""


class _Word(enum.Enum):
    """A word out of a list, which a later fxls may make longer."""

    @classmethod
    def _missing_(cls, value: object) -> enum.Enum:
        return cls["OTHER"]


class Cause(_Word):
    """Why there was a compilation."""

    FIRST = "first"
    """The function ran for the first time, under this guise."""
    CONTINUATION = "continuation"
    """It is the rest of a function behind a graph break."""
    RECOMPILATION = "recompilation"
    """The guards of all that was compiled before failed."""
    OTHER = "other"
    """A later fxls wrote it."""


class Outcome(_Word):
    """What came of a compilation."""

    RUNNING = "running"
    """It has begun; another event says how it ended."""
    OK = "ok"
    BREAK = "break"
    """There is a graph, and it ends before the function does."""
    SKIPPED = "skipped"
    """There is no graph; the function runs as it was written."""
    LIMIT = "limit"
    """It was compiled too often before; it runs as it was written."""
    ERROR = "error"
    OTHER = "other"
    """A later fxls wrote it."""


class Compilation(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="compilation", tag_field="kind"
):
    """One attempt of torch.compile at a frame; of two with the same id the later holds."""

    id: str
    """torch's name, as ``1/0``; ``1/0 (2)`` where it has it for the second time."""
    function: str
    outcome: Outcome
    cause: Cause = Cause.FIRST
    place: QuotedPlace | None = None
    """The line of its ``def``."""
    causes: tuple[str, ...] = ()
    """For a recompilation, the guards that failed, each as torch says it."""
    reason: str = ""
    """Why it did not go on to the end of the function, as torch says it."""
    attempts: Natural = 1
    """How often Dynamo began anew."""
    seconds: _Seconds | None = None
    phases: tuple[tuple[str, _Seconds], ...] = ()
    """The time of each step, by torch's name of the step; steps lie in one another."""
    cached: tuple[str, ...] = ()
    """What was taken from a cache, by torch's name of the cache."""
    nodes: Natural | None = None
    guards: Natural | None = None
    of_limit: tuple[Natural, Natural] | None = None
    """How many there are of the function with it, and how many torch allows."""


class Pass(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="pass", tag_field="kind"
):
    """A step, of a compiler or of the user, that was given a graph."""

    name: str
    ordinal: Natural = 0
    """Which of those with its name it is, in its compilation and stage; names repeat."""
    compilation: str | None = None
    """torch's name of the compilation; None for a pass outside of any."""
    producer: str = ""
    """Who ran it, as producers of listings are called."""
    stage: str = ""
    """As of the identity of the graph."""
    under: tuple[str, ...] = ()
    """The passes that it is a part of, outermost first."""
    subgraph: str | None = None
    """The part of the graph that it was given; None for the whole."""
    seconds: _Seconds | None = None
    changed: bool = False
    raised: str | None = None
    """What it raised, in a line."""
    before: RevisionName | None = None
    after: RevisionName | None = None
    created: Names = Names()
    erased: Names = Names()
    replaced: Pairs = Pairs()
    """Nodes that others took the place of: old and new."""
    altered: Names = Names()
    """Nodes that stayed, with another target, other arguments, or in another place."""
    patterns: tuple[MatchedPattern, ...] = ()
    """The patterns that it had matches of, or the operators that it decomposed."""
    saved: Names = Names()
    """For a partition, what the forward keeps for the backward."""
    recomputed: Names = Names()
    """For a partition, what the backward computes as the forward did."""
    reasons: Pairs = Pairs()
    """Of these, the ones of which torch says why, each with what it says."""


class Searched(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="searched", tag_field="kind"
):
    """A pass looked for its patterns in a graph, once."""

    name: str
    """That of the pass; of the pattern, where it is the only one."""
    count: Natural = 0
    """How many matches there were."""
    compilation: str | None = None
    """torch's name of the compilation; None outside of any."""
    patterns: tuple[MatchedPattern, ...] = ()
    """Those of the program, also with no match."""


class Made(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="made", tag_field="kind"
):
    """A listing that the run made, or made again."""

    revision: RevisionName
    compilation: str | None = None
    """The one that made it; None outside of any, and where nobody knows."""


class Subject(_Word):
    """What a remark is about."""

    BREAK = "break"
    RECOMPILATION = "recompilation"
    LIMIT = "limit"
    SKIPPED = "skipped"
    SPECIALIZED = "specialized"
    GUARD = "guard"
    ERROR = "error"
    CUDA_GRAPH = "cuda graph"
    """Kernels are launched one by one, because they are not recorded as a graph."""
    COST = "cost"
    """What takes more time than it might, at the line because of which it does."""
    FUSION = "fusion"
    """Two kernels of inductor's that could have been one."""
    PATTERN = "pattern"
    """Where a pattern of the program's nearly had a match."""
    SEARCHED = "searched"
    """How often a pattern of the program's was looked for; made of `Searched`."""
    NUMBERS = "numbers"
    """What is computed there is wrong, as `fxls compare` found."""
    OTHER = "other"
    """A later fxls wrote it."""


ON_REQUEST = frozenset({Subject.FUSION, Subject.PATTERN})
"""Of these there are many, for those who ask."""


class Remark(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="remark", tag_field="kind"
):
    """What a compiler says of a place in the source."""

    subject: Subject
    reason: str
    compilation: str | None = None
    id: str = ""
    """torch's own, as ``GB0059``, where it has one."""
    places: tuple[QuotedPlace, ...] = ()
    """Innermost first."""
    hints: tuple[str, ...] = ()
    """What torch advises."""
    about: str = ""
    """What a guard that failed is about, as ``x: size 0`` or ``self.flag``."""
    was: str = ""
    """What that was when the guard was made."""
    became: str = ""
    """What it was when the guard failed, where torch says it."""
    others: tuple[QuotedPlace, ...] = ()
    """Of something that two nodes did not come to: where the other one is from."""
    nodes: Pairs = Pairs()
    """The nodes of graphs that it is about."""
    check: Check | None = None
    """For an export that depends on a value, what would tell torch of it."""
    callers: tuple[QuotedPlace, ...] = ()
    """From where the program called the function that it is about, innermost first."""
    why_no_graph: str = ""
    """Of a break, what kept torch from ending a graph there, where it says that."""
    followed: Natural = 0
    """Of a break, how many of the places are of functions that torch followed: the last
    of these is of the compiled one. None where nobody knows.
    """


class Guards(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="guards", tag_field="kind"
):
    """The guards of a compilation: the first of them, and how many there are."""

    compilation: str
    """torch's name; ``export 1`` for the first call of torch.export."""
    count: Natural
    first: tuple[Guard, ...]
    unbacked: tuple[Guard, ...] = ()
    """No guards, but the sizes that only a run knows, as ``u0``, and where they are from."""
    function: QuotedPlace | None = None
    """For torch.export, which has no compilation, the first line of what it exported."""


class Spent(msgspec.Struct, frozen=True, tag="spent", tag_field="kind"):
    """How long the code of a listing took, as far as it was measured."""

    revision: RevisionName
    calls: Natural
    """How often its lines were measured; never where it ran once, or was not called."""
    seconds: float
    """Of all these calls together."""
    lines: tuple[tuple[Natural, float], ...]
    """Of each line, from zero; those that took longest when there are many."""
    whole_calls: Natural = 0
    """How often it ran besides, while nobody looked at its lines."""
    whole_seconds: float = 0.0
    """Of these together, by a clock around the call."""


class Judged(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="judged", tag_field="kind"
):
    """How far values of a graph are from what they should be, as they were compared."""

    revision: RevisionName
    """The listing of the graph; its facts are not told."""
    step: str
    """What made these values: a pass, a backend, operators that were decomposed, or
    kernels."""
    count: Natural
    """How many values were judged."""
    values: tuple[JudgedValue, ...]
    """Those that are furthest off when there are many, in the order of the graph."""
    compilation: str = ""
    listings: tuple[str, ...] = ()
    """All of the compilation, the last when there are many, by the names of their files."""


class InBlob(msgspec.Struct, frozen=True, tag="blob", tag_field="kind"):
    """An event that is too long for a line: it lies in the file of this name."""

    of: str
    """The kind of the event."""
    name: str
    size: Natural


class Truncated(msgspec.Struct, frozen=True, tag="truncated", tag_field="kind"):
    """The record became too long: events are counted from now on."""

    bound: Natural
    """Bytes."""


class Counts(msgspec.Struct, frozen=True, tag="counts", tag_field="kind"):
    """How many events of each kind there were, also of those that are not written."""

    counts: dict[str, Natural]
    lost: Natural = 0
    """How many were not written."""


class End(msgspec.Struct, frozen=True, omit_defaults=True, tag="end", tag_field="kind"):
    """The program ended, and could say so."""

    raised: str | None = None
    """What it ended with, in a line; None where nothing is known to be wrong."""


Event = (
    Run
    | Compilation
    | Pass
    | Searched
    | Made
    | Remark
    | Guards
    | Spent
    | Judged
    | InBlob
    | Truncated
    | Counts
    | End
)


class Entry(msgspec.Struct, frozen=True):
    """An event, when it happened and where."""

    number: Natural
    """In the order of the record."""
    thread: int
    clock: float
    """Seconds by a clock that nobody sets."""
    time: float
    """Seconds since 1970."""
    event: Event


class RecordError(ValueError):
    """Bytes that are no record of this schema; the message says in what way."""


def encode(entry: Entry) -> bytes:
    """The line of an event, without its end; it may be longer than `MOST_IN_LINE`."""
    return encoded(entry, _encoder.encode)


def decode(line: bytes) -> Entry | None:
    """The event of a line; None for a kind that this fxls does not know.

    Raises `RecordError`.
    """
    try:
        # A `Decoder` would be made at import, which takes 2 ms, also where nothing is read.
        return msgspec.json.decode(line, type=Entry)
    except _UNREADABLE as error:
        try:
            kind = msgspec.json.decode(line, type=_OfKind).event.kind
        except _UNREADABLE:
            kind = ""
        if kind and kind not in _KINDS:
            return None
        raise RecordError(f"it is damaged: {error}") from error


def decode_run(line: bytes) -> Run:
    """The run whose record begins with a line; raises `RecordError`."""
    try:
        schema = msgspec.json.decode(line, type=_OfRun).event.schema
    except _UNREADABLE as error:
        raise RecordError(f"it is no record of a run: {error}") from error
    if schema > SCHEMA:
        raise RecordError(f"it {other_format(schema, SCHEMA)}")
    entry = decode(line)
    if entry is None or not isinstance(entry.event, Run):
        raise RecordError("it is no record of a run")
    return entry.event


def kind_of(event: Event) -> str:
    """The word that an event has for its kind."""
    return str(event.__struct_config__.tag)


class _Schema(msgspec.Struct):
    schema: int


class _OfRun(msgspec.Struct):
    event: _Schema


class _Kind(msgspec.Struct):
    kind: str


class _OfKind(msgspec.Struct):
    event: _Kind


_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, MemoryError)
_KINDS = frozenset(
    str(one.__struct_config__.tag)
    for one in (
        *(Run, Compilation, Pass, Searched, Made, Remark, Guards, Spent),
        *(Judged, InBlob, Truncated, Counts, End),
    )
)
_encoder = msgspec.json.Encoder()
