"""Which of the expressions that start at one column a node of torch.compile is of."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import fxls.engine as fx
from fxls.engine.origins.resolve import RawOrigin
from fxls.listing import Place
from fxls.runtime.hooks import Hooks
from fxls.runtime.producers.places import frame_columns
from fxls.runtime.producers.places.stack_traces import origin_of

pytestmark = pytest.mark.slow

PROGRAM = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Scale(nn.Module):
    def forward(self, x):
        return x.sin() * 2

def cooled(x):
    return x.cos().exp()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(3, 3)
        self.scale = Scale()
        self.both = nn.Sequential(nn.ReLU(), Scale())

    def forward(self, x, y):
        a = torch.relu(self.dense(x)) @ y
        b = (x + y).sum(1) * torch.sin(y).T[0] - x.relu().abs()
        c = self.scale(x).relu() + self.both(y).abs()
        c -= cooled(x).tan()
        c[0] = b[0]
        d = torch.nn.functional.dropout(x, 0.5).neg() > self.both[0](y).abs()
        return a, b, c, d, checkpoint(self.scale, x, use_reentrant=False).neg()
"""


def loaded(path: Path, text: str) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def captured(program: Callable[..., Any], *args: Any) -> list[Any]:
    """The operations that torch.compile saw."""
    found: list[Any] = []

    def backend(module: Any, _: object) -> Any:
        found.extend(
            n for n in module.graph.nodes if n.op.startswith("call") and n.stack_trace
        )
        return module

    torch.compiler.reset()
    any_torch: Any = torch
    # From Python 3.13 on, torch's own traces do not say in which line something ends.
    hooks = Hooks(frame_columns.hooks())
    hooks.put_in()
    try:
        any_torch.compile(program, backend=backend)(*args)
    finally:
        hooks.take_out()
    return found


def expressions(origin: RawOrigin | None) -> list[str]:
    """The text of each place, the innermost first."""
    found: list[str] = []
    while origin is not None:
        place = origin[0]
        assert isinstance(place, Place)
        line = Path(place.path).read_text().split("\n")[place.span.start.line]
        found.append(line[place.span.start.column : place.span.end.column])
        origin = origin[2]
    return found


def test_what_was_called_tells_which_expression_a_node_is_of(tmp_path: Path) -> None:
    net = loaded(tmp_path / "net.py", PROGRAM).Net()
    nodes = captured(net, torch.ones(3, 3), torch.ones(3, 3))

    said = [" in ".join(expressions(origin_of(node.meta))) for node in nodes]
    # Some versions of torch note where a store is, as Python does; others the line alone.
    (stored,) = [node.stack_trace for node in nodes if node.name == "setitem"]
    store = "c[0]" if "^" in stored else "c[0] = b[0]"

    assert [one for one in said if "checkpoint" not in one] == [
        "self.dense(x)",
        "torch.relu(self.dense(x))",
        "torch.relu(self.dense(x)) @ y",
        "x + y",
        "(x + y).sum(1)",
        "torch.sin(y)",
        "torch.sin(y).T",
        "torch.sin(y).T[0]",
        "(x + y).sum(1) * torch.sin(y).T[0]",
        "x.relu()",
        "x.relu().abs()",
        "(x + y).sum(1) * torch.sin(y).T[0] - x.relu().abs()",
        "x.sin() in self.scale(x)",
        "x.sin() * 2 in self.scale(x)",
        "self.scale(x).relu()",
        "self.both(y)",
        "x.sin() in self.both(y)",
        "x.sin() * 2 in self.both(y)",
        "self.both(y).abs()",
        "self.scale(x).relu() + self.both(y).abs()",
        "x.cos() in cooled(x)",
        "x.cos().exp() in cooled(x)",
        "cooled(x).tan()",
        "c -= cooled(x).tan()",
        "b[0]",
        store,
        "torch.nn.functional.dropout(x, 0.5)",
        "torch.nn.functional.dropout(x, 0.5).neg()",
        "self.both[0](y)",
        "self.both[0](y).abs()",
        "torch.nn.functional.dropout(x, 0.5).neg() > self.both[0](y).abs()",
    ]


def written(random: random.Random, depth: int) -> str:
    """An expression of x and y."""
    if depth == 0:
        return random.choice("xy")
    part = written(random, depth - 1)
    other = written(random, random.randrange(depth))
    return random.choice(
        [
            f"({part} {random.choice('+-*@/')} {other})",
            f"({part} + {other}).{random.choice(['sin', 'cos'])}()",
            f"{part}.{random.choice(['relu', 'abs', 'tanh'])}()",
            f"torch.{random.choice(['maximum', 'add'])}({part}, {other})",
            f"(-{part}).exp()",
        ]
    )


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_expression_of_our_tracer_or_one_around_it(
    seed: int, tmp_path: Path
) -> None:
    """One around it where the same is called twice, and both start there."""
    choose = random.Random(seed)
    lines = "".join(f"    x = {written(choose, 4)}\n" for _ in range(6))
    text = f"import torch\ndef program(x, y):\n{lines}    return x\n"
    program = loaded(tmp_path / "program.py", text).program
    ours = [n for n in fx.symbolic_trace(program).graph.nodes if "call" in n.op]
    nodes = captured(program, torch.ones(3, 3), torch.ones(3, 3))
    exact = 0
    for node, other in zip(nodes, ours, strict=True):
        seen, asked = origin_of(node.meta), other.origin
        assert seen is not None
        assert isinstance(seen[0], Place)
        assert asked is not None
        span, right = seen[0].span, asked.places[0].span
        assert span.start == right.start, (node, other)
        assert span.end >= right.end, (node, other)
        exact += span == right
    assert exact >= 0.6 * len(ours)


def in_lines(random: random.Random, text: str) -> str:
    """The same expression, with line breaks before methods and behind operators."""
    pieces = re.split(r"((?<=\))\.(?=[a-z])|(?<= [-+*/@]) )", text)
    return "".join(
        f"\n        {piece.strip()}" if odd % 2 and random.random() < 0.6 else piece
        for odd, piece in enumerate(pieces)
    )


@pytest.mark.parametrize("seed", range(12))
def test_an_expression_of_several_lines_is_whole(seed: int, tmp_path: Path) -> None:
    """Python says that a method on a line of its own starts at its name, as torch does."""
    choose = random.Random(seed)
    lines = [f"    x = ({in_lines(choose, written(choose, 4))})\n" for _ in range(6)]
    text = f"import torch\ndef program(x, y):\n{''.join(lines)}    return x\n"
    rows = text.split("\n")
    program = loaded(tmp_path / "program.py", text).program
    ours = [n for n in fx.symbolic_trace(program).graph.nodes if "call" in n.op]
    nodes = captured(program, torch.ones(3, 3), torch.ones(3, 3))
    exact = several = 0
    for node, other in zip(nodes, ours, strict=True):
        seen, asked = origin_of(node.meta), other.origin
        assert seen is not None
        assert isinstance(seen[0], Place)
        assert asked is not None
        span, right = seen[0].span, asked.places[0].span
        assert span.end >= right.end, (node, other)
        if span.start != right.start:
            assert other.op == "call_method"
            said = rows[span.start.line][span.start.column - 1 :]
            assert said.startswith(f".{other.target}(")
            assert span.start.line > right.start.line
        exact += span.end == right.end
        several += right.start.line != right.end.line
    assert several >= 0.1 * len(ours), "the seed breaks lines"
    assert exact >= 0.6 * len(ours)
