"""Our rewriter beside the installed `torch.fx`, which says what it must do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch.fx
from torch.fx import subgraph_rewriter as theirs

from fxls.engine import subgraph_rewriter as ours
from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph_module import GraphModule

Program = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)
"""Spelled out, so that the parameters of a lambda are known to be of any type."""


@dataclass(frozen=True)
class Traced:
    """A pattern or replacement that is given as a GraphModule."""

    program: Program


@dataclass(frozen=True)
class GraphOf:
    """A pattern or replacement that is given as a Graph."""

    program: Program


Given = Program | Traced | GraphOf


@dataclass(frozen=True)
class Outcome:
    """What a rewriting did, in the words that both systems share."""

    matches: list[tuple[str, dict[str, str], list[str]]]
    graph: str
    code: str
    members: dict[str, str]
    result: Any


def rewritten(
    program: Program,
    pattern: Given,
    replacement: Given | None = None,
    inputs: Sequence[Any] = (),
    **options: Any,
) -> tuple[GraphModule, Outcome]:
    """What our rewriter makes of a program."""
    gm = symbolic_trace(copy.deepcopy(program))
    outcome = _outcome(ours, symbolic_trace, gm, pattern, replacement, inputs, options)
    gm.graph.lint()
    return gm, outcome


def assert_rewritten_alike(
    program: Program,
    pattern: Given,
    replacement: Given | None = None,
    inputs: Sequence[Any] = (),
    *,
    matches: int,
    **options: Any,
) -> GraphModule:
    """Both make the same of a program, with so many matches; gives what ours made."""
    trace = torch.fx.symbolic_trace
    their_gm = trace(copy.deepcopy(program))
    expected = _outcome(theirs, trace, their_gm, pattern, replacement, inputs, options)
    gm, outcome = rewritten(program, pattern, replacement, inputs, **options)
    assert outcome == expected
    assert len(outcome.matches) == matches
    return gm


def assert_refused_alike(
    program: Program, pattern: Given, replacement: Given | None = None, **options: Any
) -> Exception:
    """Both refuse with one type of error, and ours leaves everything as it was."""
    trace = torch.fx.symbolic_trace
    expected = _error(theirs, trace, trace(program), pattern, replacement, options)
    gm = symbolic_trace(program)
    before = described(gm)
    error = _error(ours, symbolic_trace, gm, pattern, replacement, options)
    assert type(error) is type(expected)
    assert described(gm) == before
    gm.graph.lint()
    return error


def described(gm: Any) -> tuple[Any, ...]:
    """All of a module that a rewriting might change."""
    names = gm.graph._graph_namespace.copy()
    return (
        str(gm.graph),
        gm.code,
        [(node.name, [user.name for user in node.users]) for node in gm.graph.nodes],
        _members(gm),
        [names.create_name(candidate, None) for candidate in ("relu", "sigmoid")],
    )


def _error(
    rewriter: Any,
    trace: Any,
    gm: Any,
    pattern: Any,
    replacement: Any,
    options: dict[str, Any],
) -> Exception:
    try:
        outcome = _outcome(rewriter, trace, gm, pattern, replacement, (), options)
    except Exception as error:  # noqa: BLE001 - compared by the caller
        return error
    raise AssertionError(f"this should be refused, but gives {outcome}")


def _outcome(
    rewriter: Any,
    trace: Any,
    gm: Any,
    pattern: Any,
    replacement: Any,
    inputs: Sequence[Any],
    options: dict[str, Any],
) -> Outcome:
    replaced = rewriter.replace_pattern_with_filters(
        gm, _given(pattern, trace), _given(replacement, trace), **options
    )
    return Outcome(
        [
            (
                one.anchor.name,
                {str(key): str(value) for key, value in one.nodes_map.items()},
                [node.name for node in one.replacements],
            )
            for one in replaced
        ],
        str(gm.graph),
        gm.code,
        _members(gm),
        _plain(gm(*copy.deepcopy(inputs))) if inputs else None,
    )


def _given(program: Any, trace: Any) -> Any:
    if isinstance(program, Traced):
        return trace(program.program)
    return trace(program.program).graph if isinstance(program, GraphOf) else program


def _members(gm: Any) -> dict[str, str]:
    kinds = (gm.named_modules(), gm.named_parameters(), gm.named_buffers())
    return {
        name: type(value).__name__ for kind in kinds for name, value in kind if name
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("Sequence[Any]", value)]
    return value.tolist()
