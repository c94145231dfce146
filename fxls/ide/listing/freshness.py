"""What became of a listing since it was made."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.ide.listing.document import Document

__all__ = ["Freshness", "freshness_in_words"]


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether a listing is what the source gives today; by default it is."""

    newest: Document | None = None
    """The newest revision of the identity, where that is another one."""
    changed: tuple[str, ...] = ()
    """The sources that are not as they were: the listing is stale."""
    is_gone: bool = False
    """Whether what a stale listing was made of was renamed or deleted."""


def freshness_in_words(document: Document, freshness: Freshness) -> str:
    """In a sentence or two; empty for a listing that is current."""
    said: list[str] = []
    if freshness.newest is not None:
        said.append("This is an earlier revision.")
    elif freshness.changed:
        names = sorted(
            {path.replace("\\", "/").rpartition("/")[2] for path in freshness.changed}
        )
        verb = "have" if len(names) > 1 else "has"
        said.append(f"{_joined(names)} {verb} changed since this was traced.")
        if freshness.is_gone:
            name = document.listing.identity.qualname
            said.append(f"What {name} was traced from is there no more.")
    return " ".join(said)


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
