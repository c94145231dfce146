"""What is said of a producer that cannot capture a model; known without torch."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fxls.entry import Producer
from fxls.listing import Failure
from fxls.repairs import Capture

__all__ = ["Refusal", "captured_after", "in_a_line", "in_sum"]

_LONGEST = 200

Refusal = tuple[Producer, Failure]
"""Who cannot capture a model, and why."""


def in_a_line(failure: Failure) -> str:
    """What a failure says, short enough for a comment or a title."""
    first = failure.message.strip().partition("\n")[0]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"


def in_sum(first: Failure, others: Iterable[Refusal]) -> Failure:
    """The failure of who was tried first, with the reasons of those behind."""
    behind = (
        msgspec.structs.replace(failure, message=f"{who.title}: {in_a_line(failure)}")
        for who, failure in others
    )
    return msgspec.structs.replace(first, others=(*first.others, *behind))


def captured_after(refusals: list[Refusal], by: Producer) -> Failure:
    """What is left to say where somebody captured a model that others could not."""
    (_, first), *others = refusals
    return msgspec.structs.replace(
        in_sum(first, others),
        instead=by.title,
        repairs=(*first.repairs, Capture(by.value)),
    )
