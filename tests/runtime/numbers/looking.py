"""Small models, faults that are planted in what is compiled of them, and the answers."""

from __future__ import annotations

import functools
import importlib
import linecache
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.runtime import installing
from fxls.runtime.numbers.comparing import compared
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.numbers.kept import KeptCompilation
from fxls.verdicts.comparison import Comparison, Fault

__all__ = [
    "COMPILING",
    "Attention",
    "Blamed",
    "Normed",
    "Numbers",
    "Perceptron",
    "any_torch",
    "aten",
    "blamed",
    "config",
    "exchange_what_is_saved",
    "nodes",
    "reads_what_is_overwritten",
    "without_kernels",
]

COMPILING = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # torch's own
    pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled"),
]
"""The marks of tests that compile."""

any_torch: Any = torch
aten: Any = any_torch.ops.aten
config: Any = importlib.import_module("torch._inductor.config")
compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")
debugging: Any = importlib.import_module("torch._dynamo.backends.debugging")
guards: Any = importlib.import_module("torch._guards")
virtualized: Any = importlib.import_module("torch._inductor.virtualized")


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = functional.gelu(self.first(x))
        out = self.second(hidden)
        return x + functional.relu(out)


class Attention(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.qkv, self.dropout = nn.Linear(8, 24), nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-2, -1) / 3.0
        mixed = self.dropout(scores.softmax(-1)) @ v
        return x + torch.log1p(functional.relu(mixed))


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = self.norm(x) * 1.5
        gate = torch.sigmoid(scaled)
        return torch.tanh(scaled * gate) - functional.relu(x)


def _passes_alone(gm: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
    """What inductor does with a graph before it writes code; the graph itself then runs."""
    with virtualized.V.set_fake_mode(guards.detect_fake_mode(inputs)):
        compile_fx._recursive_post_grad_passes(gm, options.get("is_inference", False))
    return debugging.boxed_nop(gm, inputs)


without_kernels = functools.partial(compile_fx.compile_fx, inner_compile=_passes_alone)
"""Inductor without its code, so that a compilation takes a moment."""


class Blamed(NamedTuple):
    """An answer, as a person would give it."""

    kind: str
    stage: str
    name: str
    nodes: tuple[str, ...]
    code: str
    """The expression of the model."""


def blamed(fault: Fault) -> Blamed:
    places = [where.places[0] for where in fault.where if where.places]
    codes: list[str] = []
    for place in places:
        line = linecache.getline(place.path, place.span.start.line + 1)
        codes.append(line[place.span.start.column : place.span.end.column])
    return Blamed(
        fault.kind.value,
        fault.stage.rpartition("graph 0")[2].removeprefix(", "),
        fault.name,
        tuple(where.node for where in fault.where),
        " ".join(dict.fromkeys(codes)),
    )


class Numbers:
    """Runs programs of which graphs and inputs are kept."""

    def run(
        self,
        model: Callable[..., Any],
        *inputs: torch.Tensor,
        backend: Any = without_kernels,
        backward: bool = True,
    ) -> Any:
        """Call a compiled model, and its backward."""
        out = any_torch.compile(model, backend=backend)(*inputs)
        if backward and out.requires_grad:
            out.float().square().sum().backward()
        return out

    @property
    def kept(self) -> Keeping:
        """What keeps graphs and inputs."""
        installation = installing.current()
        assert installation is not None
        assert installation.numbers is not None
        return installation.numbers

    @property
    def compilations(self) -> Sequence[KeptCompilation]:
        """What is kept of each."""
        return self.kept.compilations

    def forget(self) -> None:
        """Let nothing be compiled, and nothing kept."""
        any_torch.compiler.reset()
        self.kept.compilations.clear()

    @property
    def left(self) -> int:
        """How many bytes of the budget are left."""
        return self.kept.copies.left

    def found(
        self, raised: str | None = None, *, is_reproducing: bool = False
    ) -> Comparison:
        """What is found in all that was run, and ended with this error."""
        kept = self.kept
        return compared(
            kept.compilations, kept.copies, raised, is_reproducing=is_reproducing
        )

    def of(self, model: Callable[..., Any], *inputs: Any, **how: Any) -> Comparison:
        """What is found in one model."""
        self.run(model, *inputs, **how)
        return self.found()

    def first(self, model: Callable[..., Any], *inputs: Any, **how: Any) -> Blamed:
        """The answer for one model."""
        found = self.of(model, *inputs, **how)
        assert found.faults, found.unseen
        return blamed(found.faults[0])


def reads_what_is_overwritten(graph: Any) -> None:
    """A pass by which an input is overwritten before its other readers read it."""
    (copy,) = nodes(graph, aten.copy_.default)
    reader = next(user for user in copy.args[0].users if user is not copy)
    behind = [reader]
    for node in graph.nodes:
        if node.op == "call_function" and {*node.all_input_nodes} & {*behind}:
            behind.append(node)
    for node in reversed(behind):
        copy.append(node)


def exchange_what_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each forward save the first two values for the backward in each other's place."""
    right = compile_fx.min_cut_rematerialization_partition

    def exchanging(*args: Any, **options: Any) -> Any:
        forward, backward = right(*args, **options)
        output = next(node for node in forward.graph.nodes if node.op == "output")
        returned, first, second, *rest = output.args[0]
        output.args = ((returned, second, first, *rest),)
        forward.recompile()
        return forward, backward

    monkeypatch.setattr(compile_fx, "min_cut_rematerialization_partition", exchanging)


def nodes(graph: Any, target: Any) -> Sequence[Any]:
    """The nodes that call this."""
    return [node for node in graph.nodes if node.target is target]
