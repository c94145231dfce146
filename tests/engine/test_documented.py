"""The modules that FX's documents trace print what the documents show."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest
from torch import nn

from fxls import engine as fx
from tests.engine.zoo.documented import (
    Activated,
    DropoutRepro,
    DropoutRepro2,
    MyModule,
    Sum,
    TopK,
    WithSubmodule,
)

CODE: list[tuple[Callable[[], nn.Module], str]] = [
    (
        MyModule,
        """
        def forward(self, x):
            param = self.param
            add = x + param;  x = param = None
            linear = self.linear(add);  add = None
            clamp = linear.clamp(min = 0.0, max = 1.0);  linear = None
            return clamp
        """,
    ),
    (
        Sum,
        """
        def forward(self, x, y):
            add = x + y;  x = y = None
            return add
        """,
    ),
    (
        lambda: Activated(do_activation=False),
        """
        def forward(self, x):
            linear_1 = self.linear(x);  x = None
            return linear_1
        """,
    ),
    (
        lambda: Activated(do_activation=True),
        """
        def forward(self, x):
            linear_1 = self.linear(x);  x = None
            relu_1 = torch.relu(linear_1);  linear_1 = None
            return relu_1
        """,
    ),
    (
        WithSubmodule,
        """
        def forward(self, x):
            linear_1 = self.linear(x);  x = None
            neg_1 = torch.neg(linear_1);  linear_1 = None
            return neg_1
        """,
    ),
    (
        DropoutRepro,
        """
        def forward(self, x):
            dropout = torch.nn.functional.dropout(x, p = 0.5, training = True, inplace = False);  x = None
            return dropout
        """,
    ),
    (
        DropoutRepro2,
        """
        def forward(self, x):
            drop = self.drop(x);  x = None
            return drop
        """,
    ),
]


@pytest.mark.parametrize(("make", "shown"), CODE)
def test_the_code_of_a_documented_module(
    make: Callable[[], nn.Module], shown: str
) -> None:
    code = fx.symbolic_trace(make()).code

    assert code.strip() == unnumbered(textwrap.dedent(shown).strip())


def unnumbered(code: str) -> str:
    """The documents partly show names as they were numbered before PyTorch 1.11."""
    return re.sub(r"\b([a-z]+)_1\b", r"\1", code)


def test_the_graph_of_the_documented_module() -> None:
    assert str(fx.symbolic_trace(MyModule()).graph) == textwrap.dedent(
        """\
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %param : [num_users=1] = get_attr[target=param]
            %add : [num_users=1] = call_function[target=operator.add](args = (%x, %param), kwargs = {})
            %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
            %clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: 0.0, max: 1.0})
            return clamp"""
    )


def test_the_table_of_the_documented_graph(capsys: pytest.CaptureFixture[str]) -> None:
    fx.symbolic_trace(TopK()).graph.print_tabular()

    lines = capsys.readouterr().out.strip().split("\n")
    rows = [re.split(r"  +", line.strip()) for line in lines if "---" not in line]
    assert [row[:2] + row[-2:] for row in rows] == [
        ["opcode", "name", "args", "kwargs"],
        ["placeholder", "x", "()", "{}"],
        ["get_attr", "linear_weight", "()", "{}"],
        ["call_function", "add", "(x, linear_weight)", "{}"],
        ["call_module", "linear", "(add,)", "{}"],
        ["call_method", "relu", "(linear,)", "{}"],
        ["call_function", "sum_1", "(relu,)", "{'dim': -1}"],
        ["call_function", "topk", "(sum_1, 3)", "{}"],
        ["output", "output", "(topk,)", "{}"],
    ]
