"""The listing of an entry has the lines that the call runs, whatever it branches on."""

from __future__ import annotations

import linecache
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, cast

import pytest
import torch

from fxls.engine import GraphModule
from fxls.worker.evaluate import Inputs, Model
from fxls.worker.traced import traced

COUNT = 80

CHOICES: dict[str, tuple[str, ...]] = {
    "mask": ("None", "torch.full((3,), 2.0)"),
    "flag": ("False", "True"),
    "mode": ("'mean'", "'sum'"),
    "steps": ("1", "3"),
    "size": ("(1, 2)", "(2, 2)"),
    "scale": ("None", "0.5"),
}
"""For each parameter its default, and what else a call may give."""

CONDITIONS = (
    "mask is None",
    "mask is not None",
    "mask is not None or flag",
    "flag",
    "not flag",
    "flag is True",
    "isinstance(steps, int)",
    "steps > 2",
    "steps == 1 and not flag",
    "mode == 'sum'",
    "mode in ('sum', 'max')",
    "mode.startswith('m')",
    "size[0] == 2",
    "size == (1, 2)",
    "len(size) == 2 and size[1] > size[0]",
    "scale is None",
    "scale is not None and scale < 1",
    "not isinstance(scale, float)",
    "more",
    "more.get('extra')",
    "'extra' in more",
)

COMPUTED = (
    "x = x + {number}",
    "x = x * {number}",
    "x = torch.relu(x - {number})",
    "x = x * steps",
    "x = x + size[0] * {number}",
    "x = x - len(mode)",
    "x = x.sum(0, keepdim=flag) + x",
    "x = x / (scale if scale is not None else {number})",
)


@dataclass(frozen=True)
class Case:
    """A module that branches, and a call of it."""

    model: torch.nn.Module
    inputs: Inputs
    computing: frozenset[int]
    """The lines that compute with tensors."""
    text: str


def generated(seed: int, folder: Path) -> Case:
    """A module made at random: branches, inner calls, and a call that gives some."""
    choose = random.Random(seed)
    rest = choose.random() < 0.5
    keyword_only = choose.random() < 0.5
    head = ["x", *(["*"] if keyword_only else [])]
    head += [f"{name}={values[0]}" for name, values in CHOICES.items()]
    names = ", ".join(f"{name}={name}" for name in CHOICES)
    more = ", **more" if rest else ""
    lines = ["import torch", "class Model(torch.nn.Module):"]
    for method in ("forward", "inner"):
        lines.append(f"    def {method}(self, {', '.join(head)}{more}):")
        if method == "inner" and not rest:
            lines.append("        more = {}")
        for _ in range(choose.randint(2, 4)):
            lines += _branch(choose, is_forward=method == "forward", rest=rest)
        if method == "forward":
            lines.append(f"        x = self.inner(x, {names}{more})")
        lines.append("        return x")
    text = "\n".join(lines) + "\n"
    path = folder / f"generated_{seed}.py"
    path.write_text(text)
    module = ModuleType(path.stem)
    sys.modules[path.stem] = module
    exec(compile(text, str(path), "exec"), vars(module))
    linecache.checkcache(str(path))
    given = {
        name: eval(choose.choice(values))
        for name, values in CHOICES.items()
        if choose.random() < 0.5
    }
    if rest and choose.random() < 0.5:
        given["extra"] = choose.choice((True, False))
    computing = frozenset(
        n for n, line in enumerate(lines, 1) if line.lstrip().startswith("x = ")
    ) - {n for n, line in enumerate(lines, 1) if "self.inner" in line}
    model = cast(Callable[[], torch.nn.Module], vars(module)["Model"])()
    return Case(model, Inputs((torch.arange(3.0),), given), computing, text)


@pytest.mark.parametrize("case", ["f(x)", "f(x, causal=True)", "f(x, x)"])
@pytest.mark.parametrize("condition", ["mask is not None or causal", "causal"])
def test_a_module_is_called_by_its_own_names(case: str, condition: str) -> None:
    names: dict[str, Any] = {}
    text = f"def f(x, mask=None, causal=False): return x * 3 if {condition} else x + 1"
    exec(text, names)
    x = torch.ones(2)
    model = eval(case.replace("f(", "inputs("), {"x": x, "inputs": _model_of(names)})
    graph_module = traced(model).graph_module
    assert torch.equal(
        eval(case, {"f": graph_module, "x": x}), eval(case, {**names, "x": x})
    )


def _model_of(names: dict[str, Any]) -> Callable[..., Model]:
    return lambda *args, **kwargs: Model(names["f"], Inputs(args, kwargs))


def _branch(choose: random.Random, *, is_forward: bool, rest: bool) -> Iterator[str]:
    conditions = [
        one for one in CONDITIONS if "more" not in one or rest or not is_forward
    ]
    yield f"        if {choose.choice(conditions)}:"
    yield "            " + choose.choice(COMPUTED).format(number=choose.randint(2, 9))
    if choose.random() < 0.5:
        yield "        else:"
        yield "            " + choose.choice(COMPUTED).format(
            number=choose.randint(2, 9)
        )


def lines_run(case: Case) -> tuple[set[int], torch.Tensor]:
    """The computing lines that a call runs, and what it gives."""
    found: set[int] = set()
    path = case.model.forward.__code__.co_filename

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != path:
            return None
        if event == "line" and frame.f_lineno in case.computing:
            found.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = case.model(*case.inputs.args, **case.inputs.kwargs)
    finally:
        sys.settrace(before)
    return found, result


def lines_named(case: Case, graph_module: GraphModule) -> set[int]:
    """The computing lines that nodes of a graph come from."""
    origins = [n.origin for n in graph_module.graph.nodes if n.op.startswith("call_")]
    lines = {one.places[0].span.start.line + 1 for one in origins if one is not None}
    return lines & case.computing


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("generated_")]:
        del sys.modules[name]


@pytest.mark.slow
def test_the_lines_of_a_listing_are_those_that_the_call_runs(folder: Path) -> None:
    wrong: list[str] = []
    for seed in range(COUNT):
        case = generated(seed, folder)
        expected, result = lines_run(case)
        tracing = traced(Model(case.model, case.inputs))
        given = tracing.graph_module(*case.inputs.args, **case.inputs.kwargs)
        same = torch.equal(cast(torch.Tensor, given), result)
        named = lines_named(case, tracing.graph_module)
        if named != expected or not same or tracing.unbound is not None:
            code = tracing.graph_module.code
            wrong.append(
                f"{seed}: {named} instead of {expected}; equal: {same}; {tracing.unbound}\n"
                f"{case.text}\n{case.inputs.kwargs}\n{code}"
            )
    assert not wrong, f"{len(wrong)} of {COUNT}\n" + "\n".join(wrong[:2])


@pytest.mark.slow
def test_a_listing_has_the_lines_of_torch_export(folder: Path) -> None:
    exported: Any = torch.export
    for seed in range(20):
        case = generated(seed, folder)
        program = exported.export(
            case.model, case.inputs.args, dict(case.inputs.kwargs)
        )
        # It names the line of the outermost function, here `forward`.
        stacks = [node.meta.get("stack_trace") or "" for node in program.graph.nodes]
        places = [re.findall(r"line (\d+), in forward", stack) for stack in stacks]
        lines = {int(line) for found in places for line in found}
        graph_module = traced(Model(case.model, case.inputs)).graph_module
        of_forward = range(case.text[: case.text.index("def inner")].count("\n"))
        named = lines_named(case, graph_module) & set(of_forward)
        assert named == lines & case.computing, case.text
