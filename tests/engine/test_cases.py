"""Each case says: this module gives this listing.

A case is a file: a line that says what it shows, the module, its inputs, and behind
``# listing`` the code. ``FXLS_UPDATE=1 pytest tests/engine/test_cases.py`` writes the
code anew; the diff is to be reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from fxls import engine as fx
from fxls.engine.code.codegen import marked_code
from tests.engine.parser_oracle import marks_by_parser
from tests.engine.same import assert_same

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
DIVIDER = "\n\n# listing\n"

cases = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


def read(path: Path) -> tuple[nn.Module, tuple[Any, ...], str]:
    """The module of a case, its inputs, and the code that it should give."""
    source, _, listing = path.read_text("utf-8").partition(DIVIDER)
    names: dict[str, Any] = {"__name__": f"tests.engine.cases.{path.stem}"}
    exec(compile(source, str(path), "exec", dont_inherit=True), names)
    kinds = [
        value
        for value in names.values()
        if isinstance(value, type) and value.__module__ == names["__name__"]
    ]
    return kinds[-1]().eval(), names["INPUTS"], listing


def trimmed(code: str) -> str:
    return code.strip() + "\n"


@cases
def test_the_module_gives_the_listing(path: Path) -> None:
    module, _, listing = read(path)
    code = trimmed(fx.symbolic_trace(module).code)

    if os.environ.get("FXLS_UPDATE"):
        source = path.read_text("utf-8").partition(DIVIDER)[0].rstrip()
        path.write_text(f"{source}\n{DIVIDER}{code}", "utf-8")
    else:
        assert code == listing


@cases
def test_the_listing_computes_what_the_module_does(path: Path) -> None:
    module, inputs, _ = read(path)

    assert_same(fx.symbolic_trace(module)(*inputs), module(*inputs))


@cases
def test_tracing_the_listing_gives_it_again(path: Path) -> None:
    module, _, _ = read(path)
    traced = fx.symbolic_trace(module)

    assert str(fx.symbolic_trace(traced).graph) == str(traced.graph)


@cases
def test_its_marks_are_those_of_the_parser(path: Path) -> None:
    module, _, _ = read(path)
    graph = fx.symbolic_trace(module).graph
    marked = marked_code(graph)

    assert marked.code == graph.python_code("self")
    assert list(marked.marks) == marks_by_parser(marked.code.src, graph)
