"""What programs ask to be shown: lines in one file of the store, which a server follows."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from fxls.store import files
from fxls.store.errors import StoreError
from fxls.store.names import is_file_name
from fxls.store.pruning import look

__all__ = ["NAME", "ShowRequest", "ShowRequests", "ask_to_show"]

NAME = "shown.jsonl"

_LATEST = 8
"""So many are shown at once, of a program that asks in a loop."""


_MOST = 64 << 10
"""So many bytes are read of what was asked for between two looks."""


class ShowRequest(NamedTuple):
    """A listing that somebody wants to see, at a line."""

    path: Path
    line: int


class _Line(msgspec.Struct, frozen=True):
    text: str
    line: int


def ask_to_show(path: Path, line: int) -> None:
    """Let an editor that has the store open show a listing; raises `Unwritable`."""
    encoded = msgspec.json.encode(_Line(path.name, line))
    files.append_line(path.parent, path.parent / NAME, encoded)
    look(path.parent, path.name)


class ShowRequests:
    """What is asked for in one store from now on."""

    def __init__(self, root: Path) -> None:
        self._path = root / NAME
        self._signature: files.Signature | None = None
        self._read = 0
        with contextlib.suppress(StoreError):  # `asked` says so
            self._signature = files.sign(self._path)
            before, content = files.read_end(root, self._path, _MOST)
            self._read = before + len(content)

    def asked(self) -> tuple[ShowRequest, ...]:
        """What was asked for since the last time, each once; raises `Unreadable`."""
        signature = files.sign(self._path)
        if signature == self._signature:
            return ()
        self._signature = signature
        before, content = files.read_end(self._path.parent, self._path, _MOST)
        # A file that is shorter than it was is another one.
        known = self._read if before + len(content) >= self._read else 0
        start, end = max(0, known - before), content.rfind(b"\n") + 1
        self._read = before + max(start, end)
        found: dict[ShowRequest, None] = {}
        for data in content[start:end].splitlines():
            try:
                line = msgspec.json.decode(data, type=_Line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            if is_file_name(line.text):
                found[ShowRequest(self._path.parent / line.text, line.line)] = None
        return tuple(found)[-_LATEST:]
