"""What `fxls compare --keep` and `--with` say."""

from __future__ import annotations

from typing import Any

import msgspec

from fxls.cli.report import Sources, place_as_json
from fxls.cli.reports.compare_report import finite, named_text, place_of, unseen_text
from fxls.counted import counted
from fxls.verdicts.agreement import (
    Agreement,
    Difference,
    Environment,
    OfRanks,
    OtherInput,
    Side,
)

__all__ = [
    "SCHEMA",
    "agreement_as_json",
    "agreement_text",
    "is_clear",
    "ranks_as_json",
    "ranks_text",
]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""

_MOST_INPUTS = 8


def is_clear(found: Agreement) -> bool:
    """Whether something was kept, or compared and found to agree."""
    return bool(found.values) and not found.differences and found.raised is None


def agreement_text(found: Agreement, name: str, sources: Sources) -> str:
    """The nodes that differ, the inputs that do, and what nobody looked at.

    `name` is that of the file with the values.
    """
    lines: list[str] = []
    for one in found.differences:
        lines += [*_difference(one, sources), ""]
    for one in found.inputs[:_MOST_INPUTS]:
        lines.append(f"note: {_other_input(one)}")
    if (more := len(found.inputs) - _MOST_INPUTS) > 0:
        lines.append(f"note: {counted(more, 'input')} more had other values there")
    if found.inputs:
        lines.append("note: each node was run on what it was given there")
    lines += [f"not compared: {unseen_text(one)}" for one in found.unseen]
    if found.raised is not None:
        lines.append(f"note: the program ended with {found.raised}")
    return "\n".join([*lines, _verdict(found, name)])


def agreement_as_json(found: Agreement) -> dict[str, Any]:
    """The same for programs."""
    verdict = "kept" if found.there is None else "same"
    if not is_clear(found):
        verdict = "differs" if found.differences else "open"
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "here": msgspec.to_builtins(found.here),
        "there": found.there and msgspec.to_builtins(found.there),
        "differences": [
            {
                "compilation": one.compilation,
                "stage": one.stage,
                "node": one.where.node,
                "target": one.where.target,
                "place": (at := place_of(one.where)) and place_as_json(at),
                "places": [place_as_json(place) for place in one.where.places],
                "side": one.side and one.side.value,
                "evidence": msgspec.to_builtins(finite(one.evidence)),
            }
            for one in found.differences
        ],
        "inputs": [
            # JSON has no infinity.
            {**msgspec.to_builtins(one), "off": None if one.off == _FAR else one.off}
            for one in found.inputs
        ],
        "not_compared": [msgspec.to_builtins(one) for one in found.unseen],
        "graphs": found.graphs,
        "values": found.values,
        "raised": found.raised,
    }


_FAR = float("inf")


def _difference(one: Difference, sources: Sources) -> list[str]:
    graph = f"{one.stage}, {one.compilation}"
    lines = [f"error: {one.where.node} is another value there, in {graph}"]
    lines += named_text(one.where, sources)
    evidence = one.evidence
    shape = "x".join(map(str, evidence.shape)) or "scalar"
    if one.side is not None:
        other = Side.HERE if one.side is Side.THERE else Side.THERE
        lines.append(
            f"  {evidence.dtype}, {shape}: {one.side} off by {evidence.error:.3g} from"
            f" float64, {other} by {evidence.usual:.3g}; {evidence.allowed:.3g} is"
            " explained by precision"
        )
    return [*lines, f"  why: {evidence.reason}"]


def _other_input(one: OtherInput) -> str:
    by = "" if one.off == _FAR else f", by up to {one.off:.3g}"
    graph = f"{one.stage}, {one.compilation}"
    return f"the input {one.name} of {graph}, had another value there{by}"


def _verdict(found: Agreement, name: str) -> str:
    count = f"{counted(found.graphs, 'graph')}, {counted(found.values, 'value')}"
    if not found.values:
        said = "nobody can say: no value of a compiled graph is known"
    elif found.there is None:
        return f"{name} has {count} of {_environment(found.here)}"
    elif found.differences:
        said = counted(len(found.differences), "difference")
    else:
        said = "here and there compute the same"
    if found.there is None:
        return f"{said} ({count})"
    both = f"here {_environment(found.here)}, there {_environment(found.there)}"
    return f"{said} ({count}; {both})"


def _environment(one: Environment) -> str:
    return f"torch {one.torch} on {' and '.join(one.devices) or 'no device'}"


def ranks_text(found: OfRanks, names: tuple[str, str]) -> str:
    """The first node of each graph that two ranks should agree in; `names` are those of
    their files.
    """
    lines: list[str] = []
    for one in found.differences:
        graph = f"{one.stage}, {one.compilation}"
        lines.append(f"error: {one.node} is another value in both ranks, in {graph}")
        place = f"from {one.place}" if one.place else "whose expression nobody noted"
        lines.append(f"  {one.node}, {one.target}, {place}")
        if one.sides:
            lines.append(f"  {names[0]} and {names[1]}: {one.sides}")
        lines += [f"  why: {one.reason}", ""]
    lines += [f"not compared: {one}" for one in found.alone]
    count = f"{counted(found.graphs, 'graph')}, {counted(found.values, 'value')}"
    if found.differences:
        said = counted(len(found.differences), "difference")
    elif found.values and found.alone:
        said = "nobody can say: the ranks agree as far as both files go"
    elif found.values:
        said = "the ranks agree in all that should be the same"
    else:
        said = "nobody can say: no graph is in both files"
    return "\n".join([*lines, f"{said} ({count})"])


def ranks_as_json(found: OfRanks) -> dict[str, Any]:
    """The same for programs."""
    verdict = "same" if found.values and not found.alone else "open"
    return {
        "schema": SCHEMA,
        "verdict": "differs" if found.differences else verdict,
        "differences": [msgspec.to_builtins(one) for one in found.differences],
        "graphs": found.graphs,
        "values": found.values,
        "not_compared": list(found.alone),
    }
