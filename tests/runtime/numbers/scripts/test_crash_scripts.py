"""What raises has a script as well, which raises the same by itself, with torch alone."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from fxls.verdicts.comparison import Comparison, Reproducer
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    config,
    nodes,
    without_kernels,
)
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = COMPILING

lowering: Any = importlib.import_module("torch._inductor.lowering")


def found_in(
    numbers: Numbers, model: Any, *inputs: Any, backend: Any = "inductor"
) -> Comparison:
    """What is found in a program that raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  # it is asked of the fault
        numbers.run(model, *inputs, backend=backend)
    return numbers.found(repr(raised.value), is_reproducing=True)


def mixed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    waves = (x @ w).sin().cos() + 1.0
    gated = functional.relu(waves) * torch.sigmoid(waves) - waves.tanh()
    return (gated.exp() / (1.0 + gated * gated)).sum(-1)


def without(text: str, line: str) -> str:
    """A script without a line that it has."""
    assert line in text
    return text.replace(line, "")


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("compile_error", "CppCompileError: C++ compile error"),
        ("runtime_error", "RuntimeError: unhandled error"),
    ],
)
def test_code_that_raises_is_few_nodes_and_raises_nothing_without_the_fault(
    kind: str, raised: str, numbers: Numbers, tmp_path: Path
) -> None:
    setting = "cpp.inject_relu_bug_TESTING_ONLY"
    with config.patch({setting: kind}):
        found = found_in(numbers, mixed, torch.randn(4, 8), torch.randn(8, 6))
    scripts = found.reproducers
    (script,) = [one for one in scripts[:-1] if ".relu." in one.text]

    assert script.claim.endswith(raised)
    assert script.nodes <= 8 < scripts[-1].nodes
    assert [one.compiles for one in scripts] == [True] * len(scripts)
    assert found.more_compilations + len(scripts) <= 3
    assert said(script.text, tmp_path) == WRONG
    line = f"torch._inductor.config.{setting} = {kind!r}\n"
    assert said(without(script.text, line), tmp_path) == RIGHT
    if kind == "compile_error":
        of_others = [one for one in scripts[:-1] if one is not script]
        assert [said(one.text, tmp_path) for one in of_others] == [RIGHT]


def test_a_lowering_that_raises_is_one_node(
    numbers: Numbers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_good(*_: Any, **__: Any) -> Any:
        raise ValueError("no good")

    monkeypatch.setitem(lowering.lowerings, aten.relu.default, no_good)
    script, _ = found_in(numbers, Perceptron(), torch.randn(4, 8)).reproducers

    planted = (
        "import torch, torch._inductor.lowering as there\n"
        "def no_good(*_, **__): raise ValueError('{}')\n"
        "there.lowerings[torch.ops.aten.relu.default] = no_good\n"
    )
    assert script.nodes == 1
    assert script.claim == (
        "inductor raises when it compiles relu: LoweringException: ValueError: no good"
    )
    assert said(planted.format("no good") + script.text, tmp_path) == WRONG
    assert said(script.text, tmp_path) == RIGHT
    code, words = said(planted.format("something else") + script.text, tmp_path)
    assert code == 1
    assert words != "wrong", "another error is another fault"


def test_a_lowering_that_raises_for_sizes_that_are_symbols_gets_symbols_again(
    numbers: Numbers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relu = lowering.lowerings[aten.relu.default]
    planted = (
        "import torch, torch._inductor.lowering as there\n"
        "relu = there.lowerings[torch.ops.aten.relu.default]\n"
        "def no_good(x):\n"
        "    if not all(map(str.isdigit, map(str, x.get_size()))):\n"
        "        raise ValueError('no good')\n"
        "    return relu(x)\n"
        "there.lowerings[torch.ops.aten.relu.default] = no_good\n"
    )
    scope: dict[str, Any] = {}
    exec(planted, scope)
    monkeypatch.setitem(lowering.lowerings, aten.relu.default, scope["no_good"])

    def model(x: torch.Tensor) -> torch.Tensor:
        return functional.relu(x.sin())

    compiled = any_torch.compile(model, dynamic=True, backend="inductor")
    with pytest.raises(Exception, match="no good"):
        compiled(torch.randn(4, 8))
    script, _ = numbers.found("raised", is_reproducing=True).reproducers
    lowering.lowerings[aten.relu.default] = relu

    assert script.nodes == 1
    assert said(planted + script.text, tmp_path) == WRONG
    assert said(script.text, tmp_path) == RIGHT


def swaps(graph: Any) -> None:
    """It multiplies in the wrong order, which has no shape."""
    (product,) = nodes(graph, aten.mm.default)
    product.args = product.args[::-1]


def widens(graph: Any) -> None:
    """It makes a node that cannot be."""
    (relu,) = nodes(graph, aten.relu.default)
    with graph.inserting_before(relu):
        relu.args = (graph.call_function(aten.view.default, (relu.args[0], [7, 7])),)


@pytest.mark.parametrize(
    ("wrong", "lines", "right"),
    [
        (
            swaps,
            [
                "mm = torch.ops.aten.mm.default(arg0_1, arg1_1)",
                "mm = torch.ops.aten.mm.default(arg1_1, arg0_1)",
            ],
            ("(arg1_1, arg0_1)", "(arg0_1, arg1_1)"),
        ),
        (
            widens,
            [
                "relu = torch.ops.aten.relu.default(add)",
                "view_default = torch.ops.aten.view.default(add, [7, 7])",
                "relu = torch.ops.aten.relu.default(view_default)",
            ],
            ("[7, 7]", "[4, 6]"),
        ),
    ],
)
@pytest.mark.parametrize("backend", ["inductor", without_kernels])
def test_a_pass_whose_graph_raises_is_the_nodes_before_and_behind(
    wrong: Callable[[Any], None],
    lines: list[str],
    right: tuple[str, str],
    backend: Any,
    numbers: Numbers,
    tmp_path: Path,
) -> None:
    with config.patch(post_grad_custom_post_pass=wrong):
        found = found_in(
            numbers, mixed, torch.randn(4, 8), torch.randn(8, 6), backend=backend
        )
    (script,) = found.reproducers

    assert calls(script) == lines
    assert (script.nodes, script.compiles) == (len(lines) - 1, False)
    assert said(script.text, tmp_path) == WRONG
    assert right[0] in script.text
    before, _, after = script.text.partition("def after")
    assert said(f"{before}def after{after.replace(*right)}", tmp_path) == RIGHT


def calls(script: Reproducer) -> list[str]:
    return [
        line.strip() for line in re.findall("^    .* = torch.ops.*", script.text, re.M)
    ]
