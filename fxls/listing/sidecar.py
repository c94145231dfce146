"""The sidecar: the file beside a text that holds the rest of its listing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter

import msgspec

from fxls.encodable import encoded
from fxls.formats import other_format
from fxls.listing import Listing, Pieces

__all__ = ["SidecarError", "decode", "encode"]

FORMAT = 1
"""The version of the encoding; a reader refuses every other one."""


class SidecarError(ValueError):
    """Bytes that are not a sidecar of this version; the message says in what way."""


class _Sidecar(msgspec.Struct):
    format: int
    listing: Listing


_encoder = msgspec.msgpack.Encoder()


def encode(listing: Listing) -> bytes:
    """The sidecar of a listing: everything but the text, which has a file of its own."""
    sidecar = _Sidecar(FORMAT, msgspec.structs.replace(listing, text=""))
    return encoded(sidecar, _encoder.encode)


def decode(sidecar: bytes, text: str) -> Listing:
    """The listing of a sidecar and the text that it belongs to.

    Raises `SidecarError`.
    """
    # The rows of a listing refer to nothing that refers back, and there are hundreds of
    # thousands: `gc=False` keeps the collector from walking them (a third of the time).
    # Each mark and each node has a `__post_init__` that does nothing. msgspec calls it,
    # and where Python begins a call it lets another thread run that waits; else nobody
    # would for 0.2 s where there are 100,000 nodes. That takes a twentieth longer; to
    # decode the rows in parts took a third longer.
    try:
        # A `Decoder` would be made at import, which takes 2 ms, also where nothing is read.
        found = msgspec.msgpack.decode(sidecar, type=_Sidecar)
    except _UNREADABLE as error:
        _refuse_other_format(sidecar)
        raise SidecarError(f"sidecar is damaged: {error}") from error
    if found.format != FORMAT:
        raise SidecarError(f"sidecar {other_format(found.format, FORMAT)}")
    _refuse_wrong_rows(found.listing)
    return msgspec.structs.replace(found.listing, text=text)


_UNREADABLE = (msgspec.MsgspecError, RecursionError, MemoryError)


class _Version(msgspec.Struct):
    format: int


def _refuse_other_format(sidecar: bytes) -> None:
    """Raise where it says that it has another format.

    Asked of what cannot be read alone: it walks over the whole sidecar.
    """
    try:
        version = msgspec.msgpack.decode(sidecar, type=_Version).format
    except _UNREADABLE:
        return
    if version != FORMAT:
        raise SidecarError(f"sidecar {other_format(version, FORMAT)}")


def _refuse_wrong_rows(listing: Listing) -> None:
    """Raise for what names a row that there is not, and for circles.

    Who asks for a frame and its callers would never end in one.
    """
    nodes = listing.nodes
    of_nodes: tuple[Iterable[int], ...] = (
        map(attrgetter("node"), listing.marks),
        chain.from_iterable(map(attrgetter("users"), nodes)),
        _pieces(node.args for node in nodes),
        _pieces([one for _, one in node.kwargs] for node in nodes if node.kwargs),
    )
    more = chain.from_iterable(map(attrgetter("more_origins"), nodes))
    frames = map(attrgetter("origin"), nodes)
    # None of these is below zero: the decoder sees to it.
    for what, count, rows in (
        *(("node", len(nodes), rows) for rows in of_nodes),
        ("frame", len(listing.frames), _given(frames)),
        ("frame", len(listing.frames), more),
        ("module", len(listing.scopes), _given(map(attrgetter("scope"), nodes))),
        ("target", len(listing.targets), _given(map(attrgetter("call"), nodes))),
        ("source", len(listing.sources), map(attrgetter("source"), listing.frames)),
        ("source", len(listing.sources), _given([listing.entry_source])),
    ):
        last = max(rows, default=-1)
        if last >= count:
            raise SidecarError(f"sidecar is damaged: there is no {what} {last}")
    callers = [frame.caller for frame in listing.frames]
    for above in (callers, [scope.parent for scope in listing.scopes]):
        for row, one in enumerate(above):
            if one is not None and one >= row:
                raise SidecarError(f"sidecar is damaged: row {row} is below row {one}")


def _given(rows: Iterable[int | None]) -> Iterator[int]:
    return (row for row in rows if row is not None)


def _pieces(written: Iterable[Iterable[Pieces]]) -> Iterator[int]:
    """The nodes that arguments name."""
    for one in chain.from_iterable(chain.from_iterable(written)):
        if not isinstance(one, str):
            yield one
