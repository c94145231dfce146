"""A small language model, and what compares graphs around passes as fxls does not."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch.nn import functional

__all__ = ["Gpt", "Watching", "passes_alone"]

any_torch: Any = torch
compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")
AOT = "torch._functorch._aot_autograd"


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        a = (q @ k.transpose(-2, -1) / 4.0).softmax(-1) @ v
        return x + self.dropout(self.out(functional.gelu(a)))


class Gpt(nn.Module):
    """A language model as small as its passes are many."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.places = nn.Embedding(8, 16)
        self.blocks = nn.Sequential(Attention(), Attention())
        self.head = nn.Linear(16, 11, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        logits = self.head(self.blocks(x))
        return functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), words[:, 1:].flatten()
        )


def _passes_alone(gm: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
    """What inductor does with a graph before it writes code for it."""
    guards: Any = importlib.import_module("torch._guards")
    virtualized: Any = importlib.import_module("torch._inductor.virtualized").V
    with virtualized.set_fake_mode(guards.detect_fake_mode(inputs)):
        compile_fx._recursive_post_grad_passes(gm, options.get("is_inference", False))

    def run(inputs: list[Any]) -> Any:
        return gm.forward(*inputs)

    cast("Any", run)._boxed_call = True
    return run


passes_alone = functools.partial(compile_fx.compile_fx, inner_compile=_passes_alone)


Table = list[tuple[str, ...]]


def table(gm: Any) -> Table:
    """A graph as a person would write it down."""
    return [
        (n.name, n.op, str(n.target), repr(n.args), repr(n.kwargs))
        for n in gm.graph.nodes
    ]


class Watching:
    """Compares graphs at the same observers, and knows nothing of how fxls does it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.changed: list[tuple[str, str]] = []
        """The name, and the code that torch wrote for the graph behind the pass."""
        module: Any = importlib.import_module(
            "torch.fx.passes.graph_transform_observer"
        )
        observer = module.GraphTransformObserver
        enter, leave = observer.__enter__, observer.__exit__
        before: list[Table] = []

        def __enter__(one: Any) -> Any:  # noqa: N807 - in its place
            before.append(table(one.gm))
            return enter(one)

        def __exit__(one: Any, type: Any, value: Any, tb: Any) -> Any:  # noqa: A002, N807 - likewise
            if before.pop() != table(one.gm):
                self._note(one.passname, one.gm)
            return leave(one, type, value, tb)

        patch.setattr(observer, "__enter__", __enter__)
        patch.setattr(observer, "__exit__", __exit__)
        self._watch_aot(patch)

    def _watch_aot(self, patch: pytest.MonkeyPatch) -> None:
        """The steps of AOTAutograd, which stand in no observer."""
        capture: Any = importlib.import_module(f"{AOT}.graph_capture")
        whole: Any = importlib.import_module(f"{AOT}.graph_compile")
        create, dispatch = capture._create_graph, whole.aot_dispatch_autograd_graph
        cut = compile_fx.min_cut_rematerialization_partition
        traced: list[Table] = []

        @functools.wraps(create)
        def created(*args: Any, **named: Any) -> Any:
            gm = create(*args, **named)
            if traced:  # else it is a pattern that is traced
                traced[:] = [table(gm)]
                self._note("decompositions", gm)
            return gm

        @functools.wraps(dispatch)
        def dispatched(*args: Any, **named: Any) -> Any:
            if self._depth("_recursive_"):
                return dispatch(*args, **named)
            traced[:] = [[]]
            result = dispatch(*args, **named)
            if traced.pop() != table(result[0]):
                self._note("clean-up", result[0])
            return result

        @functools.wraps(cut)
        def divided(joint: Any, *args: Any, **named: Any) -> Any:
            before = table(joint)
            halves = cut(joint, *args, **named)
            if before != table(joint):
                self._note("partition", joint)
            for half in halves:
                self._note("partition", half)
            return halves

        patch.setattr(capture, "_create_graph", created)
        patch.setattr(whole, "aot_dispatch_autograd_graph", dispatched)
        patch.setattr(compile_fx, "min_cut_rematerialization_partition", divided)

    @staticmethod
    def _depth(start: str) -> int:
        """How many functions are running whose names begin so."""
        return sum(one.function.startswith(start) for one in inspect.stack(0))

    def _note(self, name: str, gm: Any) -> None:
        self.changed.append((name, gm.graph.python_code("self").src))
