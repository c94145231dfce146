# Modules and graphs of two systems, whose types have nothing in common.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Searches where the engine and torch.fx differ: random edits, and random models.

    python -m tools.differences [--first SEED] [--scripts N] [--models N]

Each seed is run under both in this process, and all that was seen is compared: texts,
results and errors. The tests do the same with fewer seeds. Prints each seed whose runs
differ, with the first difference, and a count; fails when there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import re
import sys
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.fx
from torch import nn

from fxls import engine
from tests.engine.edit_scripts import normalized, seen

UNARY = ("torch.relu({a})", "{a}.neg()", "-{a}", "{a}.abs()", "{a}.t().t()", "{a}[:2]")
BINARY = (
    "{a} + {b}",
    "torch.mul({a}, {b})",
    "{a} - 2 * {b}",
    "torch.maximum({b}, {a})",
)
OTHER = (
    "self.lin({a}.sum(0).expand(2, 3))",
    "self.block({a})",
    "{a} * self.weight",
    "{a}.view({a}.size(0), -1)",
    "torch.cat([{a}, {b}], dim=0)[: {a}.shape[0]]",
    "{a}.chunk(1, dim=0)[0]",
    "torch.where({a} > {b}, {a}, {b})",
    "sum([{a}, {b}], start={a})",
    "self.pair({a}, other={b})['y']",
    "{a}.clamp(min=-1.0, max=self.bound)",
)


class Pair(nn.Module):
    """A module that takes a keyword and returns a dict."""

    def forward(self, x: Any, *, other: Any = None) -> Any:
        return {"x": x, "y": x * other}


class Parts(nn.Module):
    """What the forwards of random models name."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(3, 3)
        self.block = nn.Sequential(nn.Tanh(), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        self.weight = nn.Parameter(torch.ones(3))
        self.pair = Pair()
        self.bound = 2.5


def model(seed: int) -> nn.Module:
    """A model whose forward is written at random."""
    random = Random(seed)
    names = ["x", "y"]
    lines = ["def forward(self, x, y=None):", "    y = x if y is None else y"]
    for place in range(random.randint(1, 12)):
        form = random.choice(random.choice((UNARY, BINARY, OTHER)))
        a, b = random.choice(names), random.choice(names)
        lines.append(f"    v{place} = {form.format(a=a, b=b)}")
        names.append(f"v{place}")
        if random.random() < 0.2:
            lines.append(f"    {random.choice(names[2:])} += 1")
    result = random.choice(names), random.choice(names), random.choice(names)
    forms = ("{0}", "({0}, [{1}])", "{{'a': {0}, 'b': ({1}, {2})}}", "{0}, None, 3")
    lines.append(f"    return {random.choice(forms).format(*result)}")
    space: dict[str, Any] = {"torch": torch}
    exec("\n".join(lines), space)
    return type("Random", (Parts,), {"forward": space["forward"]})()


def of_model(fx: Any, seed: int) -> list[object]:
    """What a system makes of a random model."""
    random = Random(seed)
    concrete = random.choice(({}, {"y": None}))
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    found: list[object] = []
    try:
        traced = fx.symbolic_trace(model(seed), concrete_args=concrete or None)
        found += [_text(traced.code), _text(str(traced.graph))]
        found.append(sorted(dict(traced.named_modules())))
        found.append(repr(_run(traced, x.clone(), y.clone(), is_fixed=bool(concrete))))
        copied = copy.deepcopy(traced)
        copied.graph.eliminate_dead_code()
        copied.recompile()
        found += [_text(copied.code), len(copied.graph.nodes)]
        given = (x.clone(), None) if concrete else (x.clone(), y.clone())
        ran = fx.Interpreter(traced).run(*given)
        found += [repr(ran), _text(fx.Transformer(traced).transform().code)]
    except (TypeError, ValueError, RuntimeError, AttributeError, NameError) as error:
        found.append(type(error).__name__)
    return found


def _text(code: str) -> str:
    """Code in which the check of a fixed None has one name, whose it is."""
    code = re.sub(r'\nfxls.engine.wrap\("\w+"\)\n', "\n", code)
    code = re.sub(r"[\w.]*symbolic_trace[._]_assert_is_none", "assert_is_none", code)
    return code.strip()


def _run(traced: Any, x: Any, y: Any, *, is_fixed: bool) -> Any:
    return traced(x) if is_fixed else traced(x, y)


def _of_script(fx: Any, seed: int) -> list[object]:
    return list(normalized(seen(fx, seed)))


def _differing(
    kind: str, run: Callable[[Any, int], list[object]], first: int, count: int
) -> int:
    differing = 0
    for seed in range(first, first + count):
        # Both systems write to stderr where in a graph an error was raised.
        with contextlib.redirect_stderr(io.StringIO()):
            torch.manual_seed(seed)
            ours = run(engine, seed)
            torch.manual_seed(seed)
            theirs = run(torch.fx, seed)
        if ours == theirs:
            continue
        differing += 1
        pairs = zip([*ours, None], [*theirs, None], strict=False)
        mine, other = next((a, b) for a, b in pairs if a != b)
        print(f"{kind} {seed}:\n  ours:   {mine}\n  theirs: {other}", flush=True)
    print(f"{count} {kind}s, {differing} differ", flush=True)
    return differing


def main() -> int:
    """Search, and print what differs."""
    parser = argparse.ArgumentParser(description="Search for differences.")
    parser.add_argument("--first", type=int, default=100_000)
    parser.add_argument("--scripts", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=10_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    differing = _differing("script", _of_script, asked.first, asked.scripts)
    differing += _differing("model", of_model, asked.first, asked.models)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
