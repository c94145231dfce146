"""Traces models of libraries under torch.fx and under fxls.engine: docs/models.md.

    ENVIRONMENT/bin/python -m tools.models [--only LIBRARY] [--write]

ENVIRONMENT has torchvision, timm and transformers, as that of `make clients` has. Fails where torch.fx traces a model and the
engine does not, or makes another graph of it, and where the engine refuses one without
a line or an advice.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import torch.fx

from fxls import engine
from tools.models.libraries import LIBRARIES, Model

PAGE = Path(__file__).parent.parent.parent / "docs" / "models.md"
_INTRODUCTION = """\
# Models

Written by `make clients`.

Each model is traced by `symbolic_trace` of torch.fx and by that of `fxls.engine`; what
is no tensor is fixed by `concrete_args` in the models of transformers.
*Same* are those that both trace, with the same nodes, names, targets and arguments.
*Refused* are those that the engine does not trace; each of these errors names a line of
the source and an advice, unless a line below says that it does not.
*By example* are those of the refused that `trace_by_example` traces with an image or a
text, and whose graph computes what the model does, bit by bit.

| library | version | models | torch.fx traces | fxls.engine traces | same | refused | by example |
|---|---|---|---|---|---|---|---|
"""


_REFUSALS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError),
    *(NameError, RuntimeError, TypeError, ValueError),
)
"""What a model that cannot be traced ends in, under torch.fx also by accident."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What both made of a model."""

    name: str
    theirs: list[tuple[str, ...]] | None
    """The nodes of the graph; None without one."""
    ours: list[tuple[str, ...]] | None
    kind: str = ""
    """The class of the engine's error."""
    is_explained: bool = True
    by_example: str = ""
    """What `trace_by_example` made of one that is refused: `EQUAL`, or the trouble."""

    @property
    def trouble(self) -> str:
        """What must not be; empty when all is well."""
        if self.theirs is not None and self.ours is None:
            return f"torch.fx traces it, and fxls.engine says {self.kind}"
        if self.theirs is not None and self.ours != self.theirs:
            return "the graphs differ"
        return "" if self.is_explained else f"{self.kind} has no line or no advice"


def outcome(model: Model) -> Outcome:
    """Trace a model by both."""
    # Each gets one of its own: a trace leaves constants in the module.
    theirs, _ = _nodes(torch.fx, model)
    ours, error = _nodes(engine, model)
    if error is None:
        return Outcome(model.name, theirs, ours)
    is_explained = bool(
        getattr(error, "advice", "")
        and re.search(r"^\s*at .+:\d+:\d+$", str(error), re.MULTILINE)
    )
    kind = type(error).__name__
    return Outcome(model.name, theirs, None, kind, is_explained, by_example(model))


EQUAL = "its outputs are those of the model"


def by_example(model: Model) -> str:
    """What comes of a trace for example inputs, compared by what both compute."""
    made = model.make()
    if any(tensor.is_meta for tensor in made.state_dict().values()):
        made = made.to_empty(device="cpu")
        for tensor in made.state_dict().values():
            if tensor.is_floating_point():
                tensor.uniform_(0.01, 0.02)
    if model.example is None:
        return "there is no example"
    inputs = model.example(made)
    try:
        graph_module = engine.trace_by_example(made, (), inputs)
        expected = made(**inputs)
    except _REFUSALS as error:
        return type(error).__name__
    names = [node.target for node in graph_module.graph.find_nodes(op="placeholder")]
    named = {str(n).removesuffix("_1") if str(n) not in inputs else n: n for n in names}
    found = graph_module(**{named[name]: value for name, value in inputs.items()})
    pairs = zip(_tensors(found), _tensors(expected), strict=True)
    return EQUAL if all(torch.equal(*pair) for pair in pairs) else "its outputs differ"


def _tensors(result: Any) -> list[torch.Tensor]:
    """The tensors in what a model returns."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(cast("dict[str, Any]", result).values())
    if isinstance(result, str | int | float | None):
        return []
    return [tensor for part in result for tensor in _tensors(part)]


def _nodes(
    fx: Any, model: Model
) -> tuple[list[tuple[str, ...]] | None, Exception | None]:
    made = model.make()
    try:
        traced = fx.symbolic_trace(made, model.fixed(made))
    except _REFUSALS as error:
        return None, error
    found = [
        tuple(map(_text, (n.op, n.name, n.target, n.args, n.kwargs)))
        for n in traced.graph.nodes
    ]
    return found, None


def _text(part: object) -> str:
    """A part of a node, without what differs from process to process, or by whose it is."""
    if callable(part):
        home, name = getattr(part, "__module__", ""), getattr(part, "__name__", part)
        part = f"{home}.{name}".replace("fxls.engine", "torch.fx")
    return re.sub(r" at 0x[0-9a-f]+", "", str(part))


def row(library: str, outcomes: list[Outcome]) -> str:
    """A library in the table."""
    counts = (
        len(outcomes),
        sum(one.theirs is not None for one in outcomes),
        sum(one.ours is not None for one in outcomes),
        sum(one.theirs is not None and one.theirs == one.ours for one in outcomes),
        sum(one.ours is None for one in outcomes),
        sum(one.by_example == EQUAL for one in outcomes),
    )
    version = importlib.metadata.version(library).partition("+")[0]
    return f"| {' | '.join(map(str, (library, version, *counts)))} |"


def details(library: str, outcomes: list[Outcome]) -> list[str]:
    """What was gained, why models are refused, and what must not be, as lines."""
    lines: list[str] = []
    gained = [o.name for o in outcomes if o.theirs is None and o.ours is not None]
    if gained:
        names = ", ".join(f"`{name}`" for name in gained)
        lines.append(f"- {library}: fxls.engine alone traces {names}.")
    kinds = Counter(one.kind for one in outcomes if one.ours is None)
    lines += [f"- {library}: {n} refused by {kind}." for kind, n in kinds.most_common()]
    not_even = Counter(one.by_example for one in outcomes if one.by_example)
    lines += [
        f"- {library}: {n} not even by example: {why}."
        for why, n in not_even.most_common()
        if why != EQUAL
    ]
    lines += [f"- {library}: `{o.name}`: {o.trouble}." for o in outcomes if o.trouble]
    return lines


def main() -> int:
    """Trace all, and print or write what became of them."""
    parser = argparse.ArgumentParser(description="Trace models of libraries.")
    parser.add_argument("--only", default="", help="a part of a library's name")
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[str] = []
    lines: list[str] = []
    is_bad = False
    for library, models in LIBRARIES.items():
        if asked.only not in library:
            continue
        outcomes: list[Outcome] = []
        for model in models():
            outcomes.append(outcome(model))
            if outcomes[-1].trouble:
                print(f"{library} {model.name}: {outcomes[-1].trouble}", flush=True)
        is_bad |= any(one.trouble for one in outcomes)
        rows.append(row(library, outcomes))
        lines += details(library, outcomes)
        print(rows[-1], flush=True)
    text = "\n".join(rows) + "\n\n## Differences\n\n" + "\n".join(lines) + "\n"
    if asked.write:
        PAGE.write_text(_INTRODUCTION + text, encoding="utf-8")
    else:
        print("\n".join(lines))
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
