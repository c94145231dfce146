"""The texts that sources had when they were traced."""

from __future__ import annotations

from functools import lru_cache

from fxls.ide.syntax.line_map import LineMap
from fxls.listing import source_digest

__all__ = ["TracedTexts", "decoded"]

_KEPT = 100


class TracedTexts:
    """TracedTexts by the digest that a listing has of them; the latest hundred."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def remember(self, content: bytes) -> None:
        """Keep what a file holds on the disk, which is what a trace reads."""
        digest = source_digest(content)
        self._known.pop(digest, None)
        self._known[digest] = decoded(content)
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]

    def get(self, digest: str) -> str | None:
        return self._known.get(digest)

    def moves(self, digest: str, text: str) -> LineMap | None:
        """The edits from the text with this digest to another; None when it is that.

        A listing without a digest of its source is taken to be made of `text`.
        """
        if digest in ("", source_digest(text.encode("utf-8", "surrogatepass"))):
            return None
        before = self._known.get(digest)
        return LineMap.unknown() if before is None else _line_map(before, text)


_line_map = lru_cache(maxsize=8)(LineMap)
"""Each key that is pressed asks a few times."""


def decoded(content: bytes) -> str:
    """The text of a file, as an editor shows it."""
    return content.decode("utf-8-sig", errors="replace")
