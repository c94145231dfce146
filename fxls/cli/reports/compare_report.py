"""What `fxls compare` says: who is at fault, how that is known, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fxls.cli.report import Sources, place_as_json, snippet
from fxls.cli.reproducing import Reproduced
from fxls.counted import counted
from fxls.listing import Place
from fxls.serving.ownership import is_own
from fxls.verdicts.comparison import (
    Comparison,
    Evidence,
    Fault,
    Finding,
    Unseen,
    Where,
    gives,
    off,
    what,
    who,
)

__all__ = [
    "SCHEMA",
    "compare_as_json",
    "compare_text",
    "finite",
    "named_text",
    "node_as_json",
    "place_of",
    "unseen_text",
]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""

_MOST_SHOWN = 4


def compare_text(
    found: Comparison, sources: Sources, reproduced: Reproduced | None = None
) -> str:
    """The faults as compilers show them, what nobody looked at, and how much was judged."""
    lines: list[str] = []
    for at, fault in enumerate(found.faults):
        lines += [*_fault(fault, sources, is_first=at == 0), ""]
    for one in found.findings:
        lines += [*_finding(one, sources), ""]
    suspects = [one for one in found.unseen if one.is_suspect]
    for one in suspects:
        lines += [f"suspect: {unseen_text(one)}", ""]
    left_out = [one for one in found.unseen if not one.is_suspect]
    lines += [f"not compared: {unseen_text(one)}" for one in left_out]
    if found.raised is not None:
        lines.append(f"note: the program ended with {found.raised}")
    if reproduced is not None:
        lines.append(_reproducer(reproduced))
    elif found.no_reproducer:
        lines.append(f"no reproducer: {found.no_reproducer}")
    lines.append(_verdict(found))
    return "\n".join(lines)


def compare_as_json(
    found: Comparison, reproduced: Reproduced | None = None
) -> dict[str, Any]:
    """The comparison for programs."""
    verdict = "fault" if found.is_found else "right" if found.is_clear else "open"
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "faults": [
            {
                "kind": one.kind.value,
                "compilation": one.compilation,
                "stage": one.stage,
                "name": one.name,
                "ordinal": one.ordinal,
                "nodes": [node_as_json(where) for where in one.where],
                # JSON has no infinity.
                "evidence": None
                if one.raised
                else msgspec.to_builtins(finite(one.evidence)),
                "raised": one.raised or None,
                "confirmed": one.confirmed,
                "said": what(one),
                "gradient_of": one.gradient_of or None,
                "overwritten": one.overwritten or None,
                "gradients": list(one.gradients),
                "computed_by": list(one.computed_by),
            }
            for one in found.faults
        ],
        "findings": [
            {
                "compilation": one.compilation,
                "stage": one.stage,
                "rule": one.rule,
                "nodes": [node_as_json(one.where)],
                "said": gives(one),
                "given": list(one.given),
                "is_input": one.is_input,
            }
            for one in found.findings
        ],
        "not_compared": [msgspec.to_builtins(one) for one in found.unseen],
        "judged": {
            "graphs": found.graphs - found.unjudged,
            "passes": found.passes,
            "decompositions": found.decompositions,
            "kernels": found.kernels,
        },
        "more_compilations": found.more_compilations,
        "seconds": found.seconds,
        "raised": found.raised,
        "reproducer": reproduced
        and {
            "path": str(reproduced.path.absolute()),
            "nodes": reproduced.script.nodes,
            "compilations": reproduced.compilations,
            "is_confirmed": reproduced.is_confirmed,
            "inputs": reproduced.script.inputs,
            "said": reproduced.said,
        },
        "no_reproducer": found.no_reproducer or None,
    }


def node_as_json(where: Where) -> dict[str, Any]:
    """A node for programs."""
    return {
        "name": where.node,
        "target": where.target,
        "place": (at := place_of(where)) and place_as_json(at),
        "places": [place_as_json(place) for place in where.places],
        "is_instead": where.is_instead,
        "backward_of": where.backward_of or None,
        "submodule": where.submodule or None,
        "is_call": where.is_call,
    }


def place_of(where: Where) -> Place | None:
    """The innermost expression of the program's own; of a library, where there is none."""
    own = [place for place in where.places if is_own(place.path)]
    return next(iter(own or where.places), None)


def _reproducer(one: Reproduced) -> str:
    counts = (
        counted(one.script.nodes, "node"),
        counted(one.compilations, "compilation"),
    )
    how = "it was run by itself, and said" if one.is_confirmed else "not confirmed"
    return f"reproducer: {one.path} ({', '.join(counts)}); {how}: {one.said}"


def finite(evidence: Evidence) -> Evidence:
    """The same with numbers that JSON has."""
    limit = 1.7976931348623157e308
    return msgspec.structs.replace(evidence, error=min(evidence.error, limit))


def _fault(fault: Fault, sources: Sources, *, is_first: bool) -> list[str]:
    title = "error" if is_first else "note: further on"
    lines = [
        f"{title}: {who(fault)}, in {fault.stage}, {fault.compilation}: {what(fault)}"
    ]
    for where in fault.where:
        lines += named_text(where, sources)
    if fault.raised:
        return [*lines, f"  why: {fault.confirmed}"]
    one = fault.evidence
    shape = "x".join(map(str, one.shape)) or "scalar"
    form = f"{one.dtype}, {shape}: " if one.dtype else ""
    reason = "" if off(one) == one.reason else f"{one.reason}; "
    lines += [f"  {form}{off(one)}", f"  why: {reason}{fault.confirmed}"]
    if fault.gradients:
        lines.append(f"  wrong gradients: {_some(fault.gradients)}")
    if fault.computed_by:
        lines.append(f"  computed in the backward by {_some(fault.computed_by)}")
    return lines


def named_text(where: Where, sources: Sources) -> list[str]:
    """A node, and what stands at its place."""
    at = place_of(where)
    named = f"{where.node}, {where.target}"
    # Of one line several modules may be called; of the root it says no more.
    is_shown = " (" in where.submodule or at is None or where.is_call
    if where.submodule and is_shown:
        named += f", in {where.submodule}"
    if at is None and where.submodule:
        return [f"  {named}"]
    if at is None:
        return [f"  {named}, whose expression nobody noted"]
    start = at.span.start
    place = f"{sources.name(at.path)}:{start.line + 1}:{start.column + 1}"
    word = "in place of" if where.is_instead else "from"
    if where.is_call:
        word = "called from"
    return [f"  {named}, {word} {place}", *snippet(at, sources)]


def _finding(found: Finding, sources: Sources) -> list[str]:
    lines = [f"found: {gives(found)}, in {found.stage}, {found.compilation}"]
    lines += named_text(found.where, sources)
    lines += [f"  with {one}" for one in found.given]
    why = "the model computes it: no step of the compiler makes it otherwise"
    if found.is_input:
        why = "no node of the graph makes it: look at what it is called with"
    return [*lines, f"  why: {why}"]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def unseen_text(one: Unseen) -> str:
    """What nobody looked at, and why, in a line."""
    return f"{one.what}, in {one.stage}, {one.compilation}: {one.why}"


def _verdict(found: Comparison) -> str:
    judged = ", ".join(
        (
            counted(found.graphs, "graph"),
            counted(found.passes, "change by passes", "changes by passes"),
            counted(found.decompositions, "decomposition"),
            counted(found.kernels, "value") + " of compiled code",
            counted(found.more_compilations, "compilation more", "compilations more"),
        )
    )
    if found.is_found:
        some = (counted(len(found.faults), "fault"),) if found.faults else ()
        if found.findings:
            some += (counted(len(found.findings), "finding"),)
        said = " and ".join(some)
    elif found.is_clear:
        said = "nobody is at fault"
    elif not found.graphs:
        said = "nobody can say: no compiled graph was called"
    elif found.unjudged and not found.faults:
        unjudged = counted(found.unjudged, "graph")
        said = f"nobody can say: too little of {unjudged} could be judged"
    else:
        said = "nobody can say who is at fault"
    return f"{said} ({judged})"
