"""Operators that AOTAutograd decomposed, judged by the operators themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, doubled, leaves
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.judging.precision import (
    Verdict,
    judged,
    nudged,
)
from fxls.runtime.numbers.kept import Decomposed, copy_of
from fxls.runtime.numbers.random_nodes import draws_alone
from fxls.runtime.numbers.replaying import Mode, Replay, Segments, alone
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import is_node, nodes_in
from fxls.runtime.torch_private import fx, schema_of
from fxls.verdicts.comparison import Evidence

__all__ = ["Decompositions", "WrongDecomposition", "judge_decompositions"]

any_torch: Any = torch


@dataclass(frozen=True, slots=True)
class WrongDecomposition:
    """An operator that fell into nodes which compute something else."""

    one: Decomposed
    node: str
    """That has the wrong value."""
    evidence: Evidence
    reaches: bool
    """Whether what the graph returns is otherwise with the right value."""


@dataclass(slots=True)
class Decompositions:
    """What is to be said of the operators of one graph."""

    wrong: list[WrongDecomposition] = field(default_factory=list[WrongDecomposition])
    """The innermost first of several in one another."""
    count: int = 0
    """How many were judged."""
    values: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    """How far the values of nodes are off; for several operators that fell into one, as
    the innermost gives it."""


def judge_decompositions(
    decomposed: list[Decomposed], graph: ReplayedGraph, run: Replay
) -> Decompositions:
    """Judge each operator by what it gives itself."""
    found = Decompositions()
    for one in decomposed:
        if _may_run(one.operator):
            wrong = _judged(one, graph, run, found.values)
            found.count += wrong is not None
            found.wrong += wrong or []
    return found


def _judged(
    one: Decomposed, graph: ReplayedGraph, run: Replay, seen: dict[str, Evidence]
) -> list[WrongDecomposition] | None:
    values = run.values

    def value(node: Any) -> Any:
        return values[graph.name_of(node)]

    nodes = [node for _, node in nodes_in((one.args, one.kwargs))]
    results = leaves(one.result)
    known = {graph.name_of(node) for node in nodes}
    if not known <= values.keys() or _is_traced((one.args, one.kwargs)):
        return None
    own = _run(one, value, lambda tensor: tensor)
    if own is None:
        return None
    flat = leaves(own)
    if len(flat) != len(results):
        return None
    for at, node in enumerate(results):
        name = graph.name_of(node) if is_node(node) else ""
        actual = values.get(name)
        if not isinstance(actual, torch.Tensor) or not isinstance(
            flat[at], torch.Tensor
        ):
            continue
        if actual.shape != flat[at].shape or actual.dtype != flat[at].dtype:
            continue  # some have values of which nobody reads the numbers
        verdict = judged(
            actual,
            flat[at],
            lambda at=at: _leaf(_run(one, value, lambda t: nudged(t, at)), at),
            lambda at=at: _leaf(_run(one, value, doubled), at),
        )
        if verdict.verdict == Verdict.WRONG and verdict.evidence is not None:
            reaches = _reaches(graph, run, name, flat[at])
            seen[name] = verdict.evidence
            return [WrongDecomposition(one, name, verdict.evidence, reaches)]
        if verdict.verdict == Verdict.RIGHT and verdict.evidence is not None:
            seen.setdefault(name, verdict.evidence)
    return []


def _run(
    one: Decomposed,
    value: Callable[[Any], Any],
    form: Callable[[torch.Tensor], torch.Tensor],
) -> Any:
    def given(argument: Any) -> Any:
        if is_node(argument):
            found = value(argument)
            return form(copy_of(found)) if isinstance(found, torch.Tensor) else found
        if isinstance(argument, torch.dtype) and form is doubled:
            return torch.float64 if argument.is_floating_point else argument
        return argument

    def run() -> Any:
        args = fx.node.map_aggregate(one.args, given)
        return one.operator(*args, **fx.node.map_aggregate(one.kwargs, given))

    with alone():
        found = attempt(run)
    return None if isinstance(found, Raised) else found


def _reaches(graph: ReplayedGraph, run: Replay, name: str, right: Any) -> bool:
    """Whether the outputs are otherwise when a node has the right value."""
    start = Values(room=run.values.room)
    inputs = [row.name for row in graph.rows if row.opcode == "placeholder"]
    start.take(run.values, [one for one in inputs if one in run.values])
    states = dict(run.states)
    for one in run.random & run.values.keys():
        if draws_alone(graph.by_name[one]):
            start[one] = run.values[one]
            del states[one]
    wanted = [str(one) for one in graph.outputs if str(one) in run.values]
    for output in dict.fromkeys(wanted):
        if output == name:
            return True
        try:
            changed = Segments(graph, start | {name: right}, states).value(
                output, Mode.OWN
            )
        except NotRun:
            continue
        if isinstance(changed, torch.Tensor) and not has_numbers_of(
            changed, run.values[output]
        ):
            return True
    return False


def _may_run(operator: Any) -> bool:
    """Whether an operator gives the same for the same inputs, and changes none."""
    tags: Any = getattr(operator, "tags", ())
    schema: Any = schema_of(operator)
    return (
        any_torch.Tag.nondeterministic_seeded not in tags
        and schema is not None
        and not schema.is_mutable
        and "empty" not in str(operator)
    )


def _is_traced(arguments: Any) -> bool:
    """Whether there is still a tensor that stands for a traced one."""
    return any(
        isinstance(leaf, torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool)
        for leaf in leaves(arguments)
    )


def _leaf(values: Any, at: int) -> torch.Tensor | None:
    found = None if values is None else leaves(values)[at]
    return found if isinstance(found, torch.Tensor) else None
