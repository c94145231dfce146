"""Requests and answers between the host and the worker, and their framing.

The one module that both processes import. It must never import torch, the engine,
the store or the protocol.

A message is four bytes of length, big-endian, and as many bytes of msgpack. Ahead of its
first one the worker sends `PREAMBLE`: what stands before it was printed by the start-up
of the user's interpreter (a ``sitecustomize``, say) and is no message. The worker
gets its requests on the standard input that the host opened; its answers go to the file
descriptor that was its standard output at start, which user code cannot reach: the
worker moves it away before it imports anything of the user's.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from fxls.encodable import encoded
from fxls.entry import ORDER, Entry, Producer
from fxls.listing import Failure, Identity, Place

__all__ = [
    "PREAMBLE",
    "Answer",
    "Asked",
    "Began",
    "Failed",
    "Fit",
    "Fitted",
    "Frames",
    "Hello",
    "Loaded",
    "Outcome",
    "Printed",
    "Problem",
    "Request",
    "Stop",
    "Told",
    "Trace",
    "Traced",
    "Tried",
    "Try",
    "Trying",
    "answer_of",
    "framed",
    "read_request",
    "request_of",
    "told_of",
    "write",
]

PREAMBLE = b"\0fxls worker\0"


class Trace(msgspec.Struct, frozen=True, tag="trace"):
    """Evaluate an entry, trace it and materialize its listing."""

    id: int
    entry: Entry
    store: str
    time_limit: float
    """Seconds, from the import of the user's file to the answer."""
    memory_limit: int | None = None
    """Bytes of address space the trace may add to the worker's own."""
    timed: bool = False
    """Whether to measure how long each node takes."""
    order: tuple[Producer, ...] = ORDER
    """Who is tried, one after the other, when the entry insists on nobody."""


class Try(msgspec.Struct, frozen=True, tag="try"):
    """Run an entry in eager as it is, and compiled with another text of one file."""

    id: int
    entry: Entry
    path: str
    """The file that has another text."""
    text: str
    time_limit: float
    """As of `Trace`, for all that is run."""
    memory_limit: int | None = None


class Fit(msgspec.Struct, frozen=True, tag="fit"):
    """Call the model of an entry in eager, with other example inputs until it runs."""

    id: int
    entry: Entry
    text: str
    """Of the file of the entry, which may differ from the one on disk."""
    time_limit: float
    """As of `Trace`, for all calls."""
    memory_limit: int | None = None


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Give up the trace with this id: its answer is `Failed` or was on its way."""

    id: int


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first message of a worker: it is ready for requests."""

    python: str
    torch: str | None
    """None when torch cannot be imported; every trace then fails and says so."""
    problem: str | None = None


class Began(msgspec.Struct, frozen=True, tag="began"):
    """The trace left the queue: its time is running."""

    id: int


class Traced(msgspec.Struct, frozen=True, tag="traced"):
    """The listing is in the store."""

    id: int
    identity: Identity
    path: str
    """The path of the listing's text."""
    seconds: float
    sources: tuple[str, ...] = ()
    """The user's files that the trace imported: a change of one makes it stale."""
    trouble: Failure | None = None
    """What went wrong behind the trace: running it on the example inputs, say."""
    times: tuple[int, ...] = ()
    """Nanoseconds of each node on the example inputs, when that was asked for and the
    engine's graph ran."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """There is no new listing."""

    id: int
    failure: Failure
    sources: tuple[str, ...] = ()


class Problem(msgspec.Struct, frozen=True):
    """Something that a compiler could not do with the code of an entry."""

    subject: str
    """As in the record of a run."""
    id: str = ""
    """The compiler's own, as ``GB0059``, where it has one."""
    place: Place | None = None
    """Where it is in the file as it ran."""
    written: str = ""
    """What is written there, in a line."""


class Tried(msgspec.Struct, frozen=True, tag="tried"):
    """What came of a changed file, compared with eager as it was."""

    id: int
    problems: tuple[Problem, ...] = ()
    """Those that the compiler had with the changed file."""
    differences: tuple[str, ...] = ()
    """What was otherwise than in eager: ``outputs``, ``gradients``, ``mutations``,
    ``prints``.
    """
    raised: str | None = None
    """What the changed file raised, in a line."""
    sources: tuple[str, ...] = ()


class Fitted(msgspec.Struct, frozen=True, tag="fitted"):
    """What fits a model."""

    id: int
    expression: str | None
    """The entry's, with example inputs with which a call ran; None when none did."""


class Trying(msgspec.Struct, frozen=True, tag="trying"):
    """A producer failed, and the next one is tried: from a process that serves a trace
    to the supervisor, which answers this when that process comes to no other end.
    """

    failed: Failed
    producer: Producer
    """Who is tried next."""


class Loaded(msgspec.Struct, frozen=True, tag="loaded"):
    """The trace needed a part of torch that takes seconds to import: from a process that
    serves a trace to the supervisor, whose later ones shall have it from the start.
    """

    id: int


class Printed(msgspec.Struct, frozen=True, tag="printed"):
    """Text that the user's code wrote to standard output or error."""

    id: int | None
    text: str


Asked = Trace | Try | Fit
"""What a process of its own serves."""
Outcome = Traced | Tried | Fitted | Failed
"""What comes of that."""
Request = Asked | Stop
Answer = Hello | Began | Outcome | Printed
Told = Outcome | Trying | Loaded
"""What a process that serves a trace sends to the supervisor."""

_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder[Request](Request)
_answers = msgspec.msgpack.Decoder[Answer](Answer)
_told = msgspec.msgpack.Decoder[Told](Told)


def write(stream: BinaryIO, message: Request | Answer) -> None:
    """Send a message, whole."""
    stream.write(framed(message))
    stream.flush()


def framed(message: Request | Answer | Trying | Loaded) -> bytes:
    """The bytes of a message, its length included."""
    data = encoded(message, _encoder.encode)
    return struct.pack(">I", len(data)) + data


def request_of(payload: bytes) -> Request:
    """The request in a payload; raises `msgspec.MsgspecError`."""
    return _requests.decode(payload)


def answer_of(payload: bytes) -> Answer:
    """The answer in a payload; raises `msgspec.MsgspecError`."""
    return _answers.decode(payload)


def told_of(payload: bytes) -> Told:
    """What a process said of its trace; raises `msgspec.MsgspecError`."""
    return _told.decode(payload)


class Frames:
    """Bytes as they arrive, cut into payloads."""

    __slots__ = ("rest",)

    def __init__(self) -> None:
        self.rest = b""
        """What arrived of the next message."""

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that are whole with these bytes."""
        rest = self.rest + data
        payloads: list[bytes] = []
        while len(rest) >= 4:
            end = 4 + int.from_bytes(rest[:4])
            if len(rest) < end:
                break
            payloads.append(rest[4:end])
            rest = rest[end:]
        self.rest = rest
        return payloads


def read_request(stream: BinaryIO) -> Request | None:
    """The next request; None at the end of the stream, also in the middle of one."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack(">I", head)
    data = stream.read(length)
    return _requests.decode(data) if len(data) == length else None
