"""The files that ``TORCH_TRACE`` makes torch write: one entry after the other.

An entry is a line with a prefix as glog writes it and a table in JSON; a text of several
lines that belongs to it follows, each of its lines behind a tab. The last entry of a
program that was killed may be torn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["TraceEntry", "entries_in", "is_trace"]

_MOST_IN_ENTRY = 64 << 20
_PREFIX = re.compile(
    rb"[A-Z]\d{4} \d\d:\d\d:\d\d\.\d+ (\d{1,10}) [^\n]{1,4096}?\] (?=\{)"
)


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """What torch said once."""

    pid: int
    table: dict[str, Any]
    text: str | None
    """None where there is none, and where what there is, is not what torch wrote."""
    is_torn: bool = False
    """Whether its text is shorter than it was, or another one."""


def is_trace(start: bytes) -> bool:
    """Whether a file begins as torch's do."""
    return _PREFIX.match(start) is not None


def entries_in(data: bytes) -> Iterator[TraceEntry | None]:
    """The entries of a file; None for each that cannot be read."""
    at, end = 0, len(data)
    while at < end:
        line, at = _line(data, at)
        first = at
        while at < end and data[at] == _TAB:
            _, at = _line(data, at)
        if not line.strip():
            continue
        found = _PREFIX.match(line)
        # Lines of other loggers, whose prefix names no table, are none of torch's trace.
        if found is not None:
            yield _entry(int(found[1]), line[found.end() :], data[first:at])


_TAB = ord("\t")


def _line(data: bytes, at: int) -> tuple[bytes, int]:
    end = data.find(b"\n", at)
    return (data[at:], len(data)) if end < 0 else (data[at:end], end + 1)


def _entry(pid: int, line: bytes, rest: bytes) -> TraceEntry | None:
    if len(line) > _MOST_IN_ENTRY or len(rest) > _MOST_IN_ENTRY:
        return None
    try:
        table = json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(table, dict):
        return None
    named = cast("dict[str, Any]", table)
    digest = named.get("has_payload")
    if digest is None:
        return TraceEntry(pid, named, None)
    content = b"\n".join(one[1:] for one in rest.removesuffix(b"\n").split(b"\n"))
    is_whole = hashlib.md5(content, usedforsecurity=False).hexdigest() == digest
    text = content.decode("utf-8", "replace") if is_whole else None
    return TraceEntry(pid, named, text, is_torn=not is_whole)
