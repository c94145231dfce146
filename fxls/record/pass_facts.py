"""Which facts the graphs between passes have: those that the run itself wrote.

A pass is noted when it ends, and the facts of its graph are written a moment later. So it
names a text, of which the store may have the facts of a later run as well: origins in a
source as it was then.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from fxls.listing import Identity
from fxls.record import Event, Made, Pass, RevisionName

__all__ = ["with_facts"]

_Text = tuple[Identity, str]


def with_facts(events: Iterable[Event]) -> list[Event]:
    """The events of a run, in which each pass names the facts of its graphs.

    They are the last that the run wrote of the text, which know what was found out since.
    A graph that the run wrote no facts of has those of an earlier run, and is named as it
    was.
    """
    given = list(events)
    facts: dict[_Text, str] = {
        (one.revision.identity, one.revision.text): one.revision.facts
        for one in given
        if isinstance(one, Made)
    }

    def named(name: RevisionName | None) -> RevisionName | None:
        if name is None or name.facts:
            return name
        return replace(name, facts=facts.get((name.identity, name.text), ""))

    return [
        replace(one, before=named(one.before), after=named(one.after))
        if isinstance(one, Pass)
        else one
        for one in given
    ]
