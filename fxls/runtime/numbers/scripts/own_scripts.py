"""Writes a pass, or a backend, of the program that raises as a script.

The script has its source, and makes the graph that it was given: first the nodes around
those that it was at, and then all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import torch

from fxls.attempt import attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.kept import Crash, KeptCompilation
from fxls.runtime.numbers.raisers import Raiser
from fxls.runtime.numbers.scripts.graph_text import making
from fxls.runtime.numbers.scripts.program_source import (
    Written,
    of_function,
    of_method,
    value_text,
)
from fxls.runtime.numbers.scripts.raising import ending, form_text
from fxls.runtime.numbers.scripts.reproducing import TORCH
from fxls.runtime.numbers.scripts.script import Function, assembled
from fxls.runtime.passes.graph_state import GraphState, Row
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_own"]

_MOST_AT = 8
"""Of so many nodes the surroundings are a graph by themselves."""
_SHOWS = (
    "It has the program's own source of what raises, and makes {} that it was given."
)
_CLAIM = "The {} {} raises on the graph that it is given: {}"
_INPUTS = "of the form that they had in the program, and drawn from a seed"


def of_own(kept: KeptCompilation, crash: Crash) -> Sequence[Reproducer]:
    """The scripts for what the program has itself and raises; raises `NotRun`."""
    why = NotRun("no function of Python raises it that is given a graph by a name")
    for raiser in crash.raisers:
        try:
            return [*_scripts(kept, crash, raiser)]
        except NotRun as error:
            why = error
    raise why


def _scripts(
    kept: KeptCompilation, crash: Crash, raiser: Raiser
) -> Iterator[Reproducer]:
    graph = ReplayedGraph(_given(kept, crash, raiser))
    function = _source(raiser)
    small = attempt(
        lambda: _script(crash, raiser, function, graph, _around(graph, raiser))
    )
    if isinstance(small, Reproducer):
        yield small
    yield _script(crash, raiser, function, graph, graph.rows)


def _given(kept: KeptCompilation, crash: Crash, raiser: Raiser) -> GraphState:
    """The graph that a function was given, as it was then."""
    for one in (crash.given, kept.captured):
        if one is not None and one.module is raiser.graph.module:
            return one
    return raiser.graph


def _source(raiser: Raiser) -> Function:
    first, *_ = raiser.given
    if _is_object(raiser, first):
        return of_method(first, raiser.code.co_name)
    return of_function(Written(raiser.code, raiser.names), raiser.code.co_name)


def _is_object(raiser: Raiser, value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    method = getattr(kind, raiser.code.co_name, None)
    return getattr(method, "__code__", None) is raiser.code


def _around(graph: ReplayedGraph, raiser: Raiser) -> list[Row]:
    """The nodes that it was at, those that they read, and those that read them."""
    at = {name for name in raiser.at if name in graph.by_name}
    if not at or len(raiser.at) > _MOST_AT:
        raise NotRun("nobody knows which nodes it was at")
    near = {*at}
    for row in graph.rows:
        uses = graph.uses(row)
        if at.intersection(uses):
            near.add(row.name)
        if row.name in at:
            near.update(uses)
    return [row for row in graph.rows if row.name in near]


def _script(
    crash: Crash,
    raiser: Raiser,
    function: Function,
    graph: ReplayedGraph,
    rows: Sequence[Row],
) -> Reproducer:
    """The script that calls it with a graph of some nodes; raises `NotRun`."""
    is_whole = len(rows) == len(graph.rows)
    computed = [row for row in rows if row.opcode != "placeholder"]
    known = {row.name for row in computed}
    used = {one for row in computed for one in graph.uses(row)}
    wanted = {row.name for row in rows} | used if not is_whole else {*graph.inputs}
    names = [row.name for row in graph.rows if row.name in wanted - known]
    returned = _output(graph) if is_whole else _ends(graph, computed)
    held = {str(row.target): _held(row) for row in computed if row.opcode == "get_attr"}
    made = making(graph, names, computed, returned, held)
    texts = {name: form_text(_noted(graph, name)) for name in names}
    call = f"{function.name}({', '.join(_arguments(raiser))})"
    text = assembled(
        [function, made],
        texts,
        [ending(["given = module()"], call, crash.raised)],
        imports=["import re"],
    )
    what = "the graph" if is_whole else "the part of the graph"
    name = crash.name or raiser.code.co_name
    claim = _CLAIM.format(crash.kind.value, name, crash.raised)
    shows = _SHOWS.format(what)
    return Reproducer(claim, text, len(computed), False, _INPUTS, TORCH, shows)  # noqa: FBT003  # it is a field


def _ends(graph: ReplayedGraph, rows: Sequence[Row]) -> Any:
    """The nodes that none of them reads."""
    read = {one for row in rows for one in graph.uses(row)}
    return tuple(row.node for row in rows if row.name not in read)


def _output(graph: ReplayedGraph) -> Any:
    last = [row for row in graph.state.rows if row.opcode == "output"]
    if not last:
        raise NotRun("its graph returns nothing")
    return last[0].args[0]


def _held(row: Row) -> str:
    value = row.held()
    if not isinstance(value, torch.Tensor):
        raise NotRun(f"{row.name} is no tensor, and a script has no module")
    return form_text(value)


def _noted(graph: ReplayedGraph, name: str) -> Any:
    said = graph.said_of(graph.by_name[name])
    if "val" not in said and "example_value" not in said:
        raise NotRun(f"nobody knows what {name} is")
    return said.get("val", said.get("example_value"))


# -- how it is called ------------------------------------------------------------------


def _arguments(raiser: Raiser) -> Iterator[str]:
    given = raiser.given[_is_object(raiser, raiser.given[0]) :]
    for value in given:
        yield _argument(value)
    for name, value in raiser.named.items():
        yield f"{name}={_argument(value)}"


def _argument(value: Any) -> str:
    if isinstance(value, fx.GraphModule):
        return "given"
    if isinstance(value, fx.Graph):
        return "given.graph"
    if _is_inputs(value):
        return "inputs()"
    return value_text(value)


def _is_inputs(value: Any) -> bool:
    """Whether it is a list of the inputs of a graph, as a backend is given them."""
    if not isinstance(value, tuple | list):
        return False
    items: Mapping[int, Any] = dict(enumerate(cast("Sequence[Any]", value)))
    return any(isinstance(one, torch.Tensor | torch.SymInt) for one in items.values())
