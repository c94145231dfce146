"""What `fxls bisect` says: the first step behind which a graph is bad, and what is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fxls.counted import counted
from fxls.verdicts.bisection import CODE, Bisection, FirstBad, Untested

__all__ = ["bisect_as_json", "bisect_text"]


def bisect_text(found: Bisection) -> str:
    """The first bad step of each compilation, what was not tested, and how much was."""
    lines: list[str] = []
    for one in found.found:
        lines += [f"bad: {_who(one)}, in {one.stage}, {one.compilation}"]
        lines += [f"  {line}" for line in one.reason.splitlines()]
    lines += _untested(found.untested)
    if found.refused:
        lines.append(f"error: {found.refused}")
    if found.raised is not None:
        lines.append(f"note: the program ended with {found.raised}")
    counts = f"({counted(found.compilations, 'compilation')}, "
    counts += f"{counted(found.tested, 'graph')} tested)"
    if found.found:
        said = f"{counted(len(found.found), 'step')} made a graph bad"
    elif found.is_good:
        said = "all graphs are good"
    else:
        said = "nobody can say"
    return "\n".join([*lines, f"{said} {counts}"])


def bisect_as_json(found: Bisection) -> dict[str, Any]:
    """The bisection for programs."""
    verdict = "bad" if found.found else "good" if found.is_good else "open"
    return {
        "schema": 1,
        "verdict": verdict,
        "found": [msgspec.to_builtins(one) for one in found.found],
        "not_tested": [msgspec.to_builtins(one) for one in found.untested],
        "compilations": found.compilations,
        "tested": found.tested,
        "refused": found.refused or None,
        "raised": found.raised,
    }


def _who(one: FirstBad) -> str:
    ordinal = f" ({one.ordinal})" if one.ordinal > 1 else ""
    return f"{one.name}{ordinal}" if one.name else "the graph as it was captured"


def _untested(untested: Sequence[Untested]) -> list[str]:
    """What was not tested; many graphs mostly have one reason."""
    by_reason: dict[str, list[str]] = {}
    for one in untested:
        name = f"what {one.name} made" if one.name else "the graph as it was captured"
        if one.name == CODE:
            name = CODE
        where = f"{name}, in {one.stage}, {one.compilation}"
        by_reason.setdefault(one.why, []).append(where)
    lines: list[str] = []
    for why, names in by_reason.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"not tested: {names[0]}{more}: {why}")
    return lines
