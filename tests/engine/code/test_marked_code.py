"""The text with marks is the text without them, whatever rules it is written by."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fxls.engine.code.codegen import CodeGen, marked_code
from fxls.engine.graph import Graph
from fxls.listing import Mark, Role
from tests.engine.parser_oracle import marks_by_parser

_any: Any = operator


def _graph() -> Graph:
    """A string that holds a name, keywords, an in-place operator, a nested argument, an
    annotation, and two values that go at once.
    """
    graph = Graph()
    x = graph.placeholder("x", type_expr=torch.Tensor)
    y = graph.placeholder("y", default_value=1)
    added = graph.call_function(operator.add, (x, y))
    joined = graph.call_function(torch.cat, ([x, (added, slice(0, y))],), {"dim": x})
    graph.call_method("index_fill", (added, "x added"), {"value": joined})
    more = graph.call_function(_any.iadd, (joined, added), type_expr=torch.Tensor)
    graph.output({"more": more, "y": (y, None)})
    return graph


class _Shouting(CodeGen):
    """Looks at what its parameters are called."""

    def gen_fn_def(self, free_vars: list[str], *rest: Any, **named: Any) -> str:
        longest = max(map(len, free_vars))
        return f"{super().gen_fn_def(free_vars, *rest, **named)}  # {longest}"


class _Counting(CodeGen):
    """Looks at how long its result is written."""

    def generate_output(self, output_args: Any, **_: Any) -> str:
        return f"return {output_args!r}  # {len(repr(output_args))}"


class _Wrapping(CodeGen):
    """Writes its result in several lines."""

    def generate_output(self, output_args: Any, **_: Any) -> str:
        return f"return dict(\n    {output_args!r}\n)"


def _with(codegen: CodeGen) -> Graph:
    graph = _graph()
    graph.set_codegen(codegen)
    return graph


def _transformed() -> Graph:
    graph = _graph()
    graph.on_generate_code(
        lambda _: (
            lambda body: ["first = 1\n", *body[:2], *reversed(body[2:-1]), body[-1]]
        )
    )
    return graph


def _clashing() -> Graph:
    """Two nodes of one name, and one that is called as a global is."""
    graph = _graph()
    nodes = list(graph.nodes)
    nodes[2]._rename("torch")
    nodes[3]._rename("inf")
    return graph


RULES: dict[str, Callable[[], Graph]] = {
    "as ever": _graph,
    "lines that are changed": _transformed,
    "names that clash": _clashing,
    "an empty graph": Graph,
    "a head that looks at names": lambda: _with(_Shouting()),
    "a result that looks at names": lambda: _with(_Counting()),
    "a result of several lines": lambda: _with(_Wrapping()),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_text_with_marks_is_the_text_without_them(rule: str) -> None:
    graph = RULES[rule]()

    marked = marked_code(graph)

    assert marked.code == graph.python_code("self")
    assert marked.code == marked_code(graph).code


@pytest.mark.parametrize(
    "make", [_graph, _transformed, _clashing], ids=["plain", "transformed", "clashing"]
)
def test_each_name_has_a_mark(make: Callable[[], Graph]) -> None:
    graph = make()

    marked = marked_code(graph)

    if make is not _clashing:  # there the names are not those of the nodes
        assert list(marked.marks) == marks_by_parser(marked.code.src, graph)
    lines = marked.code.src.split("\n")
    names = [lines[m.line][m.column : m.column + m.length] for m in marked.marks]
    by_node = {m.node: name for m, name in zip(marked.marks, names, strict=True)}
    assert all(
        by_node[m.node] == name for m, name in zip(marked.marks, names, strict=True)
    )
    assert marked.marks_below(7) == tuple(
        Mark(m.line + 7, m.column, m.length, m.node, m.role) for m in marked.marks
    )


def test_a_result_whose_rules_look_at_names_has_no_marks_there() -> None:
    graph = _with(_Counting())

    marked = marked_code(graph)

    output = marked.lines[-1]
    assert [m for m in marked.marks if m.line == output] == []
    assert any(m.role is Role.FREES for m in marked.marks)
