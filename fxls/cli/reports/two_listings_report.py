"""What `fxls compare A B` says of two listings that ran on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fxls.cli.report import Sources
from fxls.cli.reports.compare_report import finite, named_text, node_as_json
from fxls.counted import counted
from fxls.verdicts.comparison import off
from fxls.verdicts.two_listings import SCHEMA, TwoListings

__all__ = ["as_json", "text"]

_MOST = 4


def text(found: Sequence[TwoListings], sources: Sources) -> str:
    """The first node that is another one in each graph, and what could not be compared."""
    lines: list[str] = []
    for one in found:
        if one.evidence is not None:
            lines += [*_difference(one, sources), ""]
    for one in found:
        if one.why_not:
            lines.append(f"not compared: {one.graph}: {one.why_not}")
        if one.untold:
            some = ", ".join(one.untold[:_MOST])
            more = len(one.untold) - _MOST
            some += f" and {more} more" if more > 0 else ""
            lines.append(
                f"not compared: {some}, of {one.graph}: float64 and its own precision do"
                " not tell"
            )
    differ = sum(one.evidence is not None for one in found)
    seen = [one for one in found if not one.why_not]
    values = counted(sum(one.values for one in seen), "value")
    judged = f"{counted(len(seen), 'graph')}, {values} of the same inputs from a seed"
    if differ:
        said = counted(differ, "difference")
    elif seen and len(seen) == len(found):
        said = "both compute the same"
    else:
        said = "nobody can say"
    return "\n".join([*lines, f"{said} ({judged})"])


def as_json(found: Sequence[TwoListings]) -> dict[str, Any]:
    """The same for programs."""
    is_open = not found or any(one.why_not or one.untold for one in found)
    differs = any(one.evidence is not None for one in found)
    return {
        "schema": SCHEMA,
        "verdict": "differs" if differs else "open" if is_open else "same",
        "graphs": [
            {
                "graph": one.graph,
                "old": one.old,
                "new": one.new,
                "values": one.values,
                "nodes": [node_as_json(where) for where in one.where],
                "line": one.line or None,
                "outputs": list(one.outputs),
                "evidence": one.evidence and msgspec.to_builtins(finite(one.evidence)),
                "untold": list(one.untold),
                "why_not": one.why_not or None,
            }
            for one in found
        ],
    }


def _difference(one: TwoListings, sources: Sources) -> list[str]:
    assert one.evidence is not None, "its caller asks"
    names = [where.node for where in one.where]
    named = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    what = f"{named} computes another value" if names else "another output"
    lines = [f"error: {what}, in {one.graph}"]
    if names:
        lines.append(
            f"  {Path(one.new).name}:{one.line}, compared with {Path(one.old).name}"
        )
    for where in one.where:
        lines += named_text(where, sources)
    shape = "x".join(map(str, one.evidence.shape)) or "scalar"
    lines.append(f"  {one.evidence.dtype}, {shape}: {off(one.evidence)}")
    if one.outputs:
        some = ", ".join(map(str, one.outputs[:_MOST]))
        lines.append(f"  what it returns is otherwise: output {some}")
    else:
        lines.append("  what it returns is the same")
    return lines
