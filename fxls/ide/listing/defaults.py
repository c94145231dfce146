"""What the parameters of a target are by default, by what its signature says."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.listing.document import Document
from fxls.listing import Facts, Pieces

__all__ = ["defaults", "given"]


def given(
    document: Document, facts: Facts
) -> tuple[list[tuple[str, Pieces]], list[str]]:
    """The keyword arguments that say something, and the names of those that do not."""
    row = None if facts.call is None else document.listing.targets[facts.call]
    known = defaults(row.signature) if row is not None else {}
    kept: list[tuple[str, Pieces]] = []
    folded: list[str] = []
    for name, pieces in facts.kwargs:
        if name in known and pieces == (known[name],):
            folded.append(name)
        else:
            kept.append((name, pieces))
    return kept, folded


def defaults(signature: str) -> dict[str, str]:
    """The defaults of ``(input, p=0.5)`` and of ``(Tensor self, float p=0.5) -> Tensor``,
    as Python writes them.
    """
    found: dict[str, str] = {}
    for parameter in _parameters(signature):
        before, equals, default = parameter.partition("=")
        names = before.partition(":")[0].split()
        if equals and names:
            found[names[-1]] = default.strip().replace('"', "'")
    return found


def _parameters(signature: str) -> Iterator[str]:
    """The text of each parameter, without the parentheses around all."""
    depth, start = 0, 1
    for at, character in enumerate(signature):
        depth += (character in "([{") - (character in ")]}")
        if (character == "," and depth == 1) or depth == 0:
            yield signature[start:at]
            start = at + 1
        if depth == 0:
            return
