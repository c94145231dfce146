"""Messages of the debug adapter protocol: read from a stream, and passed on as they came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Self, cast

import msgspec

__all__ = ["Head", "Malformed", "Message", "event", "read", "request", "response"]


class Malformed(ValueError):
    """What came is no message; the text goes on behind who sent it."""


class Head(msgspec.Struct, frozen=True):
    """What tells messages apart; the rest of a message is decoded by who needs it."""

    type: str
    seq: int = 0
    command: str = ""
    event: str = ""
    request_seq: int = 0
    success: bool = True


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its bytes, without the header of the stream."""

    head: Head
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The message that these bytes are; raises `Malformed`."""
        try:
            return cls(_decode(data), data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            begin = data[:40].decode(errors="replace")
            said = f"sent {begin!r}, which begins no message of the protocol: {error}"
            raise Malformed(said) from None

    def part(self, name: str) -> dict[str, Any]:
        """Its `arguments` or `body`; empty where it has none. Raises `Malformed`."""
        found = self._content().get(name)
        if found is not None and not isinstance(found, dict):
            raise Malformed(f"sent {self.head.command} with {name} that are no object")
        return cast("dict[str, Any]", found or {})

    def text(self, name: str) -> str:
        """A field that is a text, such as `message`; empty where it has none."""
        return str(self._content().get(name) or "")

    def with_(self, **fields: object) -> Self:
        """The same message with other fields."""
        data = msgspec.json.encode({**self._content(), **fields})
        return type(self)(self.head, data)

    def _content(self) -> dict[str, Any]:
        return msgspec.json.decode(self.data, type=dict[str, Any])

    def write(self, to: IO[bytes]) -> None:
        """Write it to a stream, and flush that."""
        to.write(b"Content-Length: %d\r\n\r\n" % len(self.data))
        to.write(self.data)
        to.flush()


def request(seq: int, command: str, arguments: Mapping[str, Any]) -> Message:
    """A request of ours."""
    return _made(seq=seq, type="request", command=command, arguments=arguments)


def response(to: Message, refusal: str | None = None) -> Message:
    """The answer to a request: that it was done, or why not."""
    said = {} if refusal is None else {"message": refusal}
    return _made(
        type="response",
        request_seq=to.head.seq,
        command=to.head.command,
        success=refusal is None,
        **said,
    )


def event(name: str, body: Mapping[str, Any]) -> Message:
    """Something that the editor is told."""
    return _made(type="event", event=name, body=body)


def read(received: IO[bytes]) -> Message | None:
    """The next message; None when the other side hung up. Raises `Malformed`."""
    length = _length(received)
    if length is None:
        return None
    data = received.read(length)
    return Message.of(data) if len(data) == length else None


def _length(received: IO[bytes]) -> int | None:
    length = -1
    for _ in range(_MOST_FIELDS):
        line = received.readline(_LONGEST_FIELD)
        if len(line) == _LONGEST_FIELD:
            raise Malformed(f"sent a header of more than {_LONGEST_FIELD:,} bytes")
        if not line.endswith(b"\n"):
            return None
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = _number(value.strip())
    if length < 0:
        raise Malformed("sent a header without Content-Length")
    return length


def _number(text: bytes) -> int:
    if not text.isdigit() or len(text) > _DIGITS or int(text) > _LONGEST:
        said = text[:_DIGITS].decode(errors="replace")
        raise Malformed(
            f"sent the Content-Length {said!r}, which is no number up to {_LONGEST:,}"
        )
    return int(text)


def _made(**fields: object) -> Message:
    # A number of our own would be taken for one of debugpy's.
    data = msgspec.json.encode({"seq": 0, **fields})
    return Message(_decode(data), data)


_decode = msgspec.json.Decoder(Head).decode

_MOST_FIELDS = 16
_LONGEST_FIELD = 4096
_DIGITS = 20
_LONGEST = 1 << 28
"""No value that an editor shows comes near to it."""
