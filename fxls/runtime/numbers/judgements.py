"""How far each value is off that was judged, for the record of the run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from fxls.record import Judged, JudgedValue, Remark, RevisionName, Subject, pairs
from fxls.record.parts import MOST_JUDGED
from fxls.record.quoted_place import Sources
from fxls.runtime.numbers.kept import KeptCompilation
from fxls.runtime.passes.graph_state import GraphState
from fxls.verdicts.comparison import Evidence, Fault, Finding, gives, off, what, who

__all__ = ["Judgements", "ListingsOf", "remark_of", "remark_of_finding"]

ListingsOf = Callable[[str], Sequence[RevisionName]]
"""The listings of a compilation, in the order in which they were made."""


_LONGEST = 500
_MOST_PLACES = 16
_MOST_LISTINGS = 200


class Judgements:
    """The values of all graphs that were compared."""

    def __init__(self, listings_of: ListingsOf) -> None:
        self._listings_of = listings_of
        self.events: list[Judged] = []

    def note(
        self,
        kept: KeptCompilation,
        stage: str,
        step: str,
        values: Mapping[str, Evidence],
        wrong: Sequence[str],
        *,
        state: GraphState | None = None,
    ) -> None:
        """Note what a step made of a graph: `values` by node, and those of them that are
        known to be wrong.

        The graph is that of a change, where `state` is one, else the last of its stage.
        """
        revision = self._revision(kept, stage, state)
        if revision is None or not values:
            return
        found = [_value(*one, wrong) for one in values.items()]
        worst = sorted(found, key=lambda one: -one.share)
        first = {id(one) for one in worst[:MOST_JUDGED]}
        shown = tuple(one for one in found if id(one) in first)
        listings = dict.fromkeys(one.text for one in self._listings_of(kept.name))
        self.events.append(
            Judged(
                *(revision, step, len(found), shown, kept.name),
                tuple(listings)[-_MOST_LISTINGS:],
            )
        )

    def _revision(
        self, kept: KeptCompilation, stage: str, state: GraphState | None
    ) -> RevisionName | None:
        for change in kept.changes if state is not None else ():
            if change.after is state:
                return change.told.after
            if change.before is state:
                return change.told.before
        in_stage = [
            one for one in self._listings_of(kept.name) if one.identity.stage == stage
        ]
        if state is not None:
            return in_stage[0] if in_stage else None
        changes = [
            one.told.after
            for one in kept.changes
            if one.told.after is not None and one.told.after.identity.stage == stage
        ]
        return (changes or in_stage or [None])[-1]


def remark_of(fault: Fault) -> Remark:
    """A fault as what is said of a place of the program."""
    nodes = [one.node for one in fault.where]
    sources = Sources()
    places = next((one.places for one in fault.where if one.places), ())
    reason = f"{who(fault)}, in {fault.stage}: {what(fault)}"
    if not fault.raised:
        reason += f", {off(fault.evidence)}"
    return Remark(
        Subject.NUMBERS,
        reason[:_LONGEST],
        fault.compilation,
        places=tuple(map(sources.at, places[:_MOST_PLACES])),
        nodes=pairs([(node, fault.name) for node in nodes]),
    )


def remark_of_finding(found: Finding) -> Remark:
    """What gives NaN or infinity, as what is said of a place of the program."""
    sources = Sources()
    places = tuple(map(sources.at, found.where.places[:_MOST_PLACES]))
    reason = f"{gives(found)}, in {found.stage}"
    return Remark(
        *(Subject.NUMBERS, reason[:_LONGEST], found.compilation),
        places=places,
        nodes=pairs([(found.where.node, found.rule)]),
    )


def _value(node: str, evidence: Evidence, wrong: Sequence[str]) -> JudgedValue:
    if not evidence.error and node not in wrong:
        return JudgedValue(node)  # which is short, and they are many
    numbers = (evidence.error, evidence.allowed, evidence.scale)
    return JudgedValue(
        *(node, *map(_finite, numbers)),
        is_wrong=node in wrong,
        sides=_sides(evidence.sides),
    )


def _sides(of: tuple[str, ...]) -> str:
    if not of:
        return ""
    eager, compiled, place = of
    where = "" if place == "[]" else f" at {place}"
    return f"eager {eager}, compiled {compiled}{where}"


def _finite(number: float) -> float:
    return min(number, sys.float_info.max)
