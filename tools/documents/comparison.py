"""What differs between the outcomes of the same blocks under torch.fx and another engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tools.documents.execution import ErrorText, Outcome

__all__ = ["Difference", "compared", "without_a_name"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A statement that two engines do not run alike."""

    torch_fx: Outcome | None
    other: Outcome | None
    shown: bool
    """Whether the other engine does what the document shows, and torch.fx does not."""


def compared(
    torch_fx: Sequence[Outcome], other: Sequence[Outcome], document: str
) -> list[Difference]:
    """The differences, in the order of the statements."""
    return [
        Difference(theirs, ours, _is_shown(theirs, ours, document))
        for theirs, ours in zip_longest(torch_fx, other)
        if not _same(theirs, ours)
    ]


def without_a_name(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The statements that did not run because no block binds a name, or has a package."""
    missing = {"NameError", "ModuleNotFoundError"}
    return [
        outcome
        for outcome in outcomes
        if outcome.raised is not None and outcome.raised.kinds[0] in missing
    ]


def _same(theirs: Outcome | None, ours: Outcome | None) -> bool:
    if theirs is None or ours is None:
        return False
    return _told(theirs) == _told(ours) and _raise_alike(theirs.raised, ours.raised)


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.block, outcome.ran, outcome.printed, outcome.made


def _raise_alike(theirs: ErrorText | None, ours: ErrorText | None) -> bool:
    """Ours may be of a class below theirs, and may say more than their first sentence."""
    if theirs is None or ours is None:
        return theirs is ours
    first = re.split(r"\n|\. ", theirs.said)[0].rstrip(".")
    return theirs.kinds[0] in ours.kinds and ours.said.startswith(first)


def _is_shown(theirs: Outcome | None, ours: Outcome | None, document: str) -> bool:
    if theirs is None or ours is None or theirs.raised or ours.raised:
        return False
    return _stands_in(ours, document) and not _stands_in(theirs, document)


def _stands_in(outcome: Outcome, document: str) -> bool:
    """Whether the document has what a statement gave, however it is laid out there."""
    page = " ".join(document.split())
    texts = [" ".join(text.split()) for text in (outcome.printed, *outcome.made)]
    return any(texts) and all(text in page for text in texts)
