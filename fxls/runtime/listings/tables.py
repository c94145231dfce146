"""The tables of a listing under construction: sources, frames and module stacks."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from fxls import regular_file
from fxls.engine.origins import resolve as origin
from fxls.engine.origins.module_scopes import ScopeSnapshot
from fxls.engine.origins.resolve import RawOrigin
from fxls.engine.written_class import written_class
from fxls.listing import Frame, Origin, Scope, Source
from fxls.runtime.listings.quiet_reading import attribute_at
from fxls.runtime.listings.target_facts import file_of

__all__ = ["Tables", "source_digest"]

_MOST = 16
"""So many origins besides the first are kept of a node."""


class Tables:
    """The shared rows of a listing under construction."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self.sources: list[Source] = []
        self.frames: list[Frame] = []
        self.scopes: list[Scope] = []
        self._source_rows: dict[str, int] = {}
        self._frame_rows: dict[Frame, int] = {}
        self._scope_rows: dict[int, int] = {}
        self._raw: dict[int, int | None] = {}
        """By identity of what the engine keeps, which lives as long as the graph."""
        self._more: dict[int, tuple[int, ...]] = {}
        """As above, of which the nodes of one expression have the same."""

    def frame(self, raw: RawOrigin | None) -> int | None:
        """The row of an origin as the engine keeps it."""
        if id(raw) not in self._raw:
            self._raw[id(raw)] = self._row(origin.resolve(raw))
        return self._raw[id(raw)]

    def more_frames(self, raw: RawOrigin | None) -> tuple[int, ...]:
        """The rows of the other origins of a node that was made from several."""
        known = self._more.get(id(raw))
        if known is None:
            more = (
                origin.resolve_all(raw)[1 : _MOST + 1] if origin.is_merged(raw) else ()
            )
            rows = (self._row(one) for one in more)
            known = tuple(row for row in rows if row is not None)
            self._more[id(raw)] = known
        return known

    def _row(self, found: Origin | None) -> int | None:
        row: int | None = None
        for place in reversed(found.places) if found is not None else ():
            span = place.span
            frame = Frame(
                self.source(place.path),
                place.function,
                span.start.line,
                span.start.column,
                span.end.line,
                span.end.column,
                row,
            )
            known = self._frame_rows.get(frame)
            if known is None:
                known = self._frame_rows[frame] = len(self.frames)
                self.frames.append(frame)
            row = known
        return row

    def source(self, path: str) -> int:
        """The row of a source file."""
        row = self._source_rows.get(path)
        if row is None:
            row = self._source_rows[path] = len(self.sources)
            self.sources.append(Source(path, source_digest(path)))
        return row

    def scope(self, snapshot: ScopeSnapshot | None) -> int | None:
        """The row of a module stack."""
        if snapshot is None:
            return None
        row = self._scope_rows.get(id(snapshot))
        if row is None:
            parent = self.scope(snapshot.caller)
            kind: Any = snapshot.type
            if isinstance(kind, type):
                kind = written_class(kind)
            name = (
                f"{kind.__module__}.{kind.__qualname__}"
                if isinstance(kind, type)
                else str(kind)
            )
            row = self._scope_rows[id(snapshot)] = len(self.scopes)
            count = self._parameters(snapshot.path)
            file = file_of(kind)
            self.scopes.append(Scope(snapshot.path, name, parent, file, count))
        return row

    def _parameters(self, path: str) -> int | None:
        """How many numbers the parameters of a submodule hold."""
        at = attribute_at(self._module, path) if path else self._module
        if not isinstance(at, torch.nn.Module):
            return None
        return sum(parameter.numel() for parameter in at.parameters())


def source_digest(path: str) -> str:
    """The hash of a source file as it is; empty when it cannot be read."""
    try:
        file = Path(path)
        state = file.stat()
        key = (state.st_mtime_ns, state.st_size)
        known = _digests.get(path)
        if known is None or known[0] != key:
            digest = hashlib.sha256(
                regular_file.read(file, regular_file.SOURCE_BYTES)
            ).hexdigest()[:16]
            known = _digests[path] = (key, digest)
    except OSError:
        return ""
    return known[1]


_digests: dict[str, tuple[tuple[int, int], str]] = {}
