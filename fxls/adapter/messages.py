"""Messages of the debug adapter protocol, as they travel on a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

__all__ = ["read", "write"]


def write(to: IO[bytes], message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode()
    # In one piece: debugpy's adapter writes to the same pipe.
    to.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
    to.flush()


def read(received: IO[bytes]) -> bytes | None:
    """The next message; None when the editor hung up."""
    length = -1
    while line := received.readline():
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if length < 0:
        return None
    data = received.read(length)
    return data if len(data) == length else None
