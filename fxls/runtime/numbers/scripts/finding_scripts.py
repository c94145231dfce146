"""Writes a node that gives NaN or infinity as a script that needs torch alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.rules import Rule
from fxls.runtime.checks.verdict import not_finite
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.replaying import alone
from fxls.runtime.numbers.scripts.reproducing import TORCH, cut
from fxls.runtime.numbers.scripts.script import assembled, function_of
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_finding"]

_SHOWS = "It runs the node in eager mode: nothing is compiled."


def of_finding(
    graph: ReplayedGraph, values: Mapping[str, Any], node: str, rule: Rule
) -> Sequence[Reproducer]:
    """The script for a node whose value breaks a rule, while nothing does that it reads;
    raises `NotRun`.
    """
    if graph.by_name[node].opcode == "placeholder":
        raise NotRun("no node of the graph makes it: the graph was called with it")
    given = {name: value for name, value in values.items() if name != node}
    made = cut(graph, given, node, is_drawing=True)
    function = function_of(made.graph, "function")
    for texts, said, inputs in variants(made.inputs, given):
        ordered = [inputs[name] for name in made.inputs]
        with alone():
            found = attempt(
                lambda given=ordered: fx.GraphModule({}, made.graph)(*given)
            )
        if isinstance(found, Raised) or not _breaks(found, rule):
            continue
        text = assembled([function], texts, [_end(rule)])
        claim = f"{graph.by_name[node].name} gives {_CALLED[rule]} of these inputs."
        return [Reproducer(claim, text, made.nodes, False, said, TORCH, _SHOWS)]  # noqa: FBT003  # it is a field
    return []


def _breaks(value: Any, rule: Rule) -> bool:
    return any(
        isinstance(one, torch.Tensor) and not_finite(rule, one) for one in leaves(value)
    )


_CALLED = {Rule.NAN: "NaN", Rule.INF: "infinity", Rule.GRAD_NAN: "NaN"}


def _end(rule: Rule) -> str:
    asked = "isinf" if rule is Rule.INF else "isnan"
    return f'''\
def count(value):
    """How many elements are {_CALLED[rule]}, and of how many."""
    if isinstance(value, (tuple, list)):
        both = [count(one) for one in value]
        return sum(one for one, _ in both), sum(other for _, other in both)
    if not isinstance(value, torch.Tensor):
        return 0, 0
    return int(value.{asked}().sum()), value.numel()


with torch.no_grad():
    found, of = count(function(*inputs()))
if found:
    print(f"wrong: {{found}} of {{of}} are {_CALLED[rule]}")
    sys.exit(1)
print("right: none is {_CALLED[rule]}")
'''
