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

    They are the last that its compilation wrote of the text, which know what was found
    out since; of a graph that it wrote no facts of, the last of the run. A graph that
    the run wrote no facts of has those of an earlier run, and is named as it was.
    """
    given = list(events)
    of_run: dict[_Text, str] = {}
    of_compilation: dict[tuple[str | None, _Text], str] = {}
    for one in given:
        if isinstance(one, Made):
            text = (one.revision.identity, one.revision.text)
            of_run[text] = one.revision.facts
            of_compilation[one.compilation, text] = one.revision.facts

    def named(ran: Pass, name: RevisionName | None) -> RevisionName | None:
        if name is None or name.facts:
            return name
        text = (name.identity, name.text)
        found = of_compilation.get((ran.compilation, text)) or of_run.get(text, "")
        return replace(name, facts=found)

    return [
        replace(one, before=named(one, one.before), after=named(one, one.after))
        if isinstance(one, Pass)
        else one
        for one in given
    ]
