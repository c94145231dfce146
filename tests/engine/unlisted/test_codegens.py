# Private names are the subject, and are reached by their text.
# pyright: reportPrivateUsage=false
"""What programs write with that have a CodeGen of their own does what torch.fx's does."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import traceback
from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine import graph, graph_module, node

_graph: Any = graph
_module: Any = graph_module
_node: Any = node
NAMED: list[Any] = [
    *(torch.relu, torch.nn.functional.relu, torch.nn.functional.gelu, torch.sigmoid),
    *(len, print, nn.Linear, torch.device, torch.Size, torch.float32, math.sqrt),
    *(torch.ops.aten.add.Tensor, torch.Tensor.add, nn.modules, 3, "text"),
]


def _called(value: Any) -> str:
    return str(getattr(value, "__name__", value))


@pytest.mark.parametrize("value", NAMED, ids=_called)
def test_whether_a_value_is_of_torch_is_what_torch_fx_says(value: Any) -> None:
    theirs: Any = importlib.import_module("torch.fx.graph")

    assert _graph._is_from_torch(value) == theirs._is_from_torch(value)


@pytest.mark.parametrize("function", NAMED[:8], ids=_called)
def test_the_module_of_a_function_is_the_one_of_torch_fx(function: Any) -> None:
    theirs: Any = importlib.import_module("torch.fx.node")

    found = _node._find_module_of_method(function)

    assert found == theirs._find_module_of_method(function)


@pytest.mark.parametrize("path", ["f", "a.b", "a.0.b", "0"])
def test_a_path_is_written_as_torch_fx_does(path: str) -> None:
    theirs: Any = importlib.import_module("torch.fx.graph")

    assert _graph._format_target("self", path) == theirs._format_target("self", path)


def test_the_forms_of_typing_are_those_of_torch_fx() -> None:
    theirs: Any = importlib.import_module("torch.fx.graph")

    assert _graph._origin_type_map == theirs._origin_type_map


def test_a_file_imports_what_every_generated_function_has() -> None:
    theirs: Any = importlib.import_module("torch.fx.graph")
    expected = {name: had.import_str for name, had in theirs._custom_builtins.items()}
    expected["fx_pytree"] = "import fxls.engine._pytree as fx_pytree"

    built = {name: had.import_str for name, had in _graph._custom_builtins.items()}

    assert built == expected
    for name, statement in built.items():
        names: dict[str, Any] = {}
        exec(statement, names)
        value, was = names[name], _graph._custom_builtins[name].obj
        assert value is was or (value != value and was != was)


def test_an_import_is_written_as_torch_fx_does() -> None:
    theirs: Any = importlib.import_module("torch.fx.graph_module")
    importer = importlib.import_module("torch.package.importer").sys_importer
    named = {"nan": math.nan, "torch": torch, "L": nn.Linear, "size": len}

    for name, value in named.items():
        written = _module._format_import_statement(name, value, importer)
        assert written == theirs._format_import_statement(name, value, importer)
    # torch.fx writes a statement here that is none.
    assert _module._format_import_statement("n", nn, importer) == "import torch.nn as n"


def test_a_name_that_a_program_registers_is_in_every_generated_function() -> None:
    program = """
import statistics, torch
from fxls import engine as fx
from fxls.engine.graph import _register_custom_builtin, _custom_builtins, _CustomBuiltin
_register_custom_builtin("statistics", "import statistics", statistics)
_custom_builtins["own"] = _CustomBuiltin("own = 1", 1)
graph = fx.Graph()
own = graph.placeholder("own")
graph.output(graph.call_function(torch.relu, (own,)))
made = graph.python_code("self").globals
print(own.name, made["statistics"] is statistics, made["own"])
"""

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout == "own_1 True 1\n"


def test_a_source_that_is_executed_is_shown_in_a_traceback() -> None:
    names: dict[str, Any] = {}
    place = {"co_filename": "net.py", "co_firstlineno": 7, "co_name": "forward"}

    _module._exec_with_source("def divided(x):\n    return x / 0\n", names, place)

    with pytest.raises(ZeroDivisionError) as raised:
        names["divided"](1)
    *_, last = traceback.extract_tb(raised.value.__traceback__)
    assert (last.lineno, last.line, last.name) == (2, "return x / 0", "divided")
    assert "net.py:7 in forward" in last.filename


@pytest.mark.parametrize("has_call", [False, True])
def test_a_class_of_a_program_wraps_the_call(has_call: bool) -> None:
    class Own(nn.Module):
        def forward(self, x: int) -> int:
            return x + 1

    def twice(_self: object, x: int) -> int:
        return 2 * x

    wrapped = _module._WrappedCall(Own, twice if has_call else None)

    assert wrapped(Own(), 5) == (10 if has_call else 6)
