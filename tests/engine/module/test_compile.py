# Modules have members of any type, and torch says little of the types of its own.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Generated code is code like any other: debuggers, tracebacks and inspect show it."""

from __future__ import annotations

import bdb
import gc
import linecache
import operator
import re
import traceback
import weakref
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
import torch
from torch import nn

from fxls import engine as fx
from fxls.engine.module.compile import (
    Compiler,
    ForwardCode,
    forward_of,
    pin,
    run_definition,
    set_compiler,
)
from tests.engine.zoo.opcodes import Sum


def adding() -> fx.GraphModule:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    total = graph.call_function(operator.add, (x, y))
    graph.output(graph.call_method("relu", (total,)))
    return fx.GraphModule({}, graph, "Adding")


def code_of(module: fx.GraphModule) -> CodeType:
    forward: Any = module.forward
    return forward.__code__


class TestInMemory:
    def test_the_name_is_no_path_and_says_class_function_and_text(self) -> None:
        name = code_of(adding()).co_filename

        assert name == code_of(adding()).co_filename
        kind, text = name.removeprefix("<fxls ").removesuffix(">").split()
        assert kind == "Adding.forward"
        assert len(text) == 12

    def test_the_name_says_which_function_was_traced(self) -> None:
        def forward(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        name = code_of(fx.symbolic_trace(forward)).co_filename

        place = f"{__file__}:{forward.__code__.co_firstlineno}"
        assert re.fullmatch(
            rf"<fxls forward.forward \w{{12}} of {re.escape(place)}>", name
        )

    def test_the_text_is_known_for_as_long_as_anybody_has_the_code(self) -> None:
        module = adding()
        name, source = code_of(module).co_filename, module.code
        again = adding()
        assert code_of(again).co_filename == name

        del module
        gc.collect()
        linecache.checkcache()
        kept = "".join(linecache.getlines(name))
        del again
        gc.collect()

        assert kept == source
        assert name not in linecache.cache

    def test_a_traceback_keeps_the_text(self) -> None:
        with pytest.raises(RuntimeError) as raised:
            adding()(torch.ones(2), torch.ones(3))
        gc.collect()

        shown = traceback.extract_tb(raised.value.__traceback__)[-1]
        assert shown.line == "add = x + y;  x = y = None"
        assert shown.name == "forward"

    def test_a_debugger_stops_at_a_line_and_goes_on_node_by_node(self) -> None:
        module = adding()
        stops: list[str] = []

        class Debugger(bdb.Bdb):
            def user_line(self, frame: FrameType) -> None:
                stops.append(linecache.getline(self.canonic(file), frame.f_lineno))
                self.set_next(frame)

        file = code_of(module).co_filename
        debugger = Debugger()
        line = module.code.split("\n").index("    add = x + y;  x = y = None") + 1
        assert debugger.set_break(file, line) is None
        debugger.runcall(module, torch.ones(1), torch.ones(1))

        in_forward = [stop.strip() for stop in stops if "Adding" not in stop]
        in_forward = list(filter(None, in_forward))  # Python 3.13 stops behind it, too
        assert in_forward[-3:] == [
            "add = x + y;  x = y = None",
            "relu = add.relu();  add = None",
            "return relu",
        ]

    def test_modules_with_one_text_keep_their_own_origins(self) -> None:
        class First(nn.Module):
            def forward(self, x: Any) -> Any:
                return x.relu()

        class Second(nn.Module):
            def forward(self, x: Any) -> Any:
                return x.relu()

        class Around(nn.Module):
            def __init__(self, inner: nn.Module) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, x: Any) -> Any:
                return self.inner(x)

        first, second = (fx.symbolic_trace(Around(one())) for one in (First, Second))
        assert code_of(first).co_filename == code_of(second).co_filename

        for module in (first, second):
            again = fx.symbolic_trace(module)
            assert [n.origin for n in again.graph.nodes] == [
                n.origin for n in module.graph.nodes
            ]


class TestReport:
    def test_names_the_line_of_the_code_and_the_line_of_the_source(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        module = fx.symbolic_trace(Sum())

        with pytest.raises(RuntimeError, match="must match the size") as raised:
            module(torch.ones(2), torch.ones(3))

        assert capsys.readouterr().err == (
            "\n\nCall using an FX-traced Module, line 5 of the traced Module's generated"
            " forward function:\n"
            "def forward(self, x, y):\n"
            "    add = x + y;  x = y = None\n"
            "\n"
            "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n"
            "    return add\n"
            "    \n"
        )
        source = Sum.forward.__code__
        assert raised.value.__notes__ == [
            (
                "Node add of Sum: add = x + y\n"
                f'  File "{source.co_filename}", line {source.co_firstlineno + 1},'
                " in Sum.forward\n"
                "    return x + y\n"
                "           ^^^^^\n"
                "  with x: float32 (2,)\n"
                "  with y: float32 (3,)"
            )
        ]

    def test_notes_errors_further_inside_and_does_not_say_them_aloud(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(RuntimeError, match="cannot be multiplied") as raised:
            fx.symbolic_trace(CallsLinear())(torch.ones(2, 2))

        assert capsys.readouterr().err == ""
        (note,) = raised.value.__notes__
        assert note.splitlines()[:1] == [
            "Node linear of CallsLinear: linear = self.linear(x)"
        ]
        assert note.splitlines()[-2:] == [
            "  with linear: Linear(in_features=3, out_features=3, bias=True)",
            "  with x: float32 (2, 2)",
        ]

    def test_is_said_once_by_the_module_whose_code_raised(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        graph = fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        graph.output(graph.call_module("inner", (x, y)))
        outer = fx.GraphModule({"inner": adding()}, graph)

        with pytest.raises(RuntimeError) as raised:
            outer(torch.ones(2), torch.ones(3))

        assert capsys.readouterr().err.count("Call using an FX-traced Module") == 1
        assert [note.splitlines()[0] for note in raised.value.__notes__] == [
            "Node add of Adding: add = x + y",
            "Node inner of GraphModule: inner = self.inner(x, y)",
        ]


class CallsLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.linear(x)


class InFile:
    """A compiler that puts lines in front of the code, under a path of its own."""

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def __call__(self, module: fx.GraphModule, code: ForwardCode, /) -> FunctionType:
        marked = code.marked()
        text = f"# {type(module).__name__}: {len(marked.marks)} marks\n" + code.src
        pin("/nowhere/adding.py", text)
        self.compiled.append(text)
        compiled = compile(text, "/nowhere/adding.py", "exec", dont_inherit=True)
        return run_definition(compiled, dict(code.globals), "forward")


class TestHook:
    @pytest.fixture
    def compiler(self) -> Iterator[InFile]:
        compiler: Compiler = InFile()
        before = set_compiler(compiler)
        yield compiler
        assert set_compiler(*before[:1], eager=before[1]) == (compiler, False)

    def test_the_compiler_decides_text_and_path(
        self, compiler: InFile, capsys: pytest.CaptureFixture[str]
    ) -> None:
        module = adding()

        with pytest.raises(RuntimeError):
            module(torch.ones(2), torch.ones(3))

        assert compiler.compiled == ["# Adding: 11 marks\n" + module.code]
        assert code_of(module).co_filename == "/nowhere/adding.py"
        assert "line 6 of the traced Module's" in capsys.readouterr().err

    def test_nothing_is_compiled_before_it_is_needed(self, compiler: InFile) -> None:
        module = adding()
        for _ in range(3):
            module.recompile()
        _ = module.code
        assert compiler.compiled == []

        module(torch.ones(1), torch.ones(1))
        module(torch.ones(1), torch.ones(1))

        assert len(compiler.compiled) == 1

    def test_an_eager_compiler_compiles_in_recompile(self, compiler: InFile) -> None:
        set_compiler(compiler, eager=True)
        try:
            adding().recompile()
        finally:
            set_compiler(compiler)

        assert len(compiler.compiled) == 2

    def test_a_line_leads_to_its_node(self, compiler: InFile) -> None:
        module = adding()
        code = ForwardCode(module.graph)
        function = forward_of(module, code).__code__
        first = function.co_firstlineno

        found = [code.node_at(function, first + i) for i in range(5)]

        assert [str(node) for node in found] == [
            "None",
            "add",
            "relu",
            "output",
            "None",
        ]


def test_the_module_and_its_code_are_freed() -> None:
    module = adding()
    module(torch.ones(1), torch.ones(1))
    gone = weakref.ref(module)

    del module
    gc.collect()

    assert gone() is None
