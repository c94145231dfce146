"""Standard input, read ahead of what is being answered, so that what the client gave up
in the meantime need not be answered.
"""

from __future__ import annotations

import json
import os
import re
import threading

__all__ = ["ReadAhead"]

_CANCEL = b'"$/cancelRequest"'
_LENGTH = re.compile(
    rb"^content-length:[ \t]*(\d+)[ \t]*\r$", re.IGNORECASE | re.MULTILINE
)
_CHUNK = 1 << 16


class ReadAhead:
    """A file of messages, as pygls reads one; a thread of its own fills it.

    - `given_up` has the numbers of the requests that were cancelled and that nobody has
      come to yet: it is complete for all that was written at once.
    """

    def __init__(self, file: int) -> None:
        """`file` is a descriptor, because a thread that waits in a file object of
        Python's would hold its lock when the interpreter ends.
        """
        self.given_up: set[int | str] = set()
        self._file = file
        self._scanned = bytearray()
        self._ready = bytearray()
        self._ended = False
        self._more = threading.Condition()
        threading.Thread(target=self._fill, daemon=True).start()

    def readline(self) -> bytes:
        """A line with its end; less at the end of the file."""
        with self._more:
            self._more.wait_for(lambda: self._ended or b"\n" in self._ready)
            end = self._ready.find(b"\n") + 1
            return self._take(end or len(self._ready))

    def read(self, size: int) -> bytes:
        """So many bytes; less at the end of the file."""
        with self._more:
            self._more.wait_for(lambda: self._ended or len(self._ready) >= size)
            return self._take(size)

    def end(self) -> None:
        """Let the file end, although whoever writes to it has not closed it."""
        with self._more:
            self._ended = True
            self._more.notify_all()

    def close(self) -> None:
        """The descriptor is the process's, and ends with it."""

    def _take(self, size: int) -> bytes:
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        return taken

    def _fill(self) -> None:
        while True:
            try:
                chunk = os.read(self._file, _CHUNK)
            except OSError:
                chunk = b""
            self._scan(chunk)
            with self._more:
                self._ready += chunk
                self._ended = self._ended or not chunk
                self._more.notify_all()
            if not chunk:
                return

    def _scan(self, chunk: bytes) -> None:
        """Note what the whole messages in a chunk cancel; what is torn waits."""
        scanned = self._scanned
        scanned += chunk
        while (head := scanned.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(scanned, 0, head + 2)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(scanned) < end:
                return
            if _CANCEL in scanned[head + 4 : end]:
                self._note(bytes(scanned[head + 4 : end]))
            del scanned[:end]

    def _note(self, body: bytes) -> None:
        try:
            message = json.loads(body)
            if message["method"] == "$/cancelRequest":
                self.given_up.add(message["params"]["id"])
        except (ValueError, TypeError, LookupError, RecursionError):
            # Who reads the message says what is wrong with it.
            return
