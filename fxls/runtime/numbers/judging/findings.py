"""Which node gives NaN or infinity, in a call of which something has that."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from fxls.rules import Rule
from fxls.runtime.checks.verdict import not_finite
from fxls.runtime.numbers.blame import called, where
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.kept import KeptCompilation
from fxls.runtime.numbers.notes import Notes
from fxls.runtime.numbers.replaying import replayed
from fxls.runtime.numbers.scripts.finding_scripts import of_finding
from fxls.runtime.numbers.total import Scripts
from fxls.tensor_view import shown
from fxls.verdicts.comparison import Finding

__all__ = ["note_finding"]

_MOST_GIVEN = 8


def note_finding(notes: Notes, rule: Rule) -> None:
    """Note which node makes what breaks a rule, though no step of the compiler does."""
    notes.judged -= 1  # it is no step
    kept = notes.kept
    found = _finding_in(kept, rule)
    if found is None:
        why = f"it returned {rule.value}, and no graph of it gives that node by node"
        notes.leave_out(kept.stage, "what it returned", why, is_suspect=True)
        return
    notes.total.take_finding(*found)


def _finding_in(kept: KeptCompilation, rule: Rule) -> tuple[Finding, Scripts] | None:
    """The first node whose value breaks the rule while nothing does that it reads; else
    the input that does; None where the graphs give no such value, node by node.

    With it stands what writes its script.

    Raises `NotRun`.
    """
    why: NotRun | None = None
    for stage, graph, inputs in _graphs(kept):
        try:
            values = replayed(graph, inputs).values
        except NotRun as error:  # the next one is of the same call
            why = error
            continue
        found = _first(graph, values, rule)
        if found is None:
            continue
        name, said = found
        row = graph.by_name[name]
        given = [
            f"{one}: {_brief(values[one])}"
            for one in graph.uses(row)[:_MOST_GIVEN]
            if one in values
        ]
        finding = Finding(
            *(kept.name, stage, rule.value),
            called(where(graph, name), kept.called_by),
            *(said, tuple(given)),
            is_input=row.opcode == "placeholder",
        )
        return finding, functools.partial(of_finding, graph, values, name, rule)
    if why is not None:
        raise why
    return None


def _graphs(
    kept: KeptCompilation,
) -> Iterator[tuple[str, ReplayedGraph, Mapping[str, Any]]]:
    """The graphs of a call of which something has it, with the nearest to the program
    first.
    """
    if kept.call.found is not None and not kept.call.why_not:
        yield kept.stage, ReplayedGraph(kept.captured), kept.call.values
    is_forward = kept.call.found is not None
    for one in kept.lowered:
        is_meant = one.state is not None and one.is_backward is not is_forward
        if is_meant and one.call.happened and not one.call.why_not:
            half = "backward" if one.is_backward else "forward"
            assert one.state is not None, "just asked"
            stage = f"{kept.stage}, {half}, post-grad"
            yield stage, ReplayedGraph(one.state), one.call.values


def _first(
    graph: ReplayedGraph, values: Mapping[str, Any], rule: Rule
) -> tuple[str, str] | None:
    """The first node that breaks the rule of those that what is returned is computed of."""
    said: dict[str, str] = {}
    for row in graph.rows:
        wrong = [not_finite(rule, one) for one in leaves(values.get(row.name))]
        text = next(filter(None, wrong), None)
        if text is not None and "empty" not in str(row.target):
            said[row.name] = text
    waiting = [str(one) for one in graph.outputs if str(one) in said]
    seen = {*waiting}
    while waiting:
        for used in graph.uses(graph.by_name[waiting.pop()]):
            if used in said and used not in seen:
                seen.add(used)
                waiting.append(used)
    for row in graph.rows:
        if row.name in seen and seen.isdisjoint(graph.uses(row)):
            return row.name, said[row.name]
    return None


def _brief(value: Any) -> str:
    return shown(value) if isinstance(value, torch.Tensor) else str(value)[:40]
