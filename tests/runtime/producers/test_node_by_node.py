"""Rules are watched in what torch captures and compiles, as in any other listing."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls.store import Store
from tests.runtime import broken_nets as nets
from tests.support.programs import needs_inductor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated"),
]

compiler: Any = cast("Any", torch).compile

FOUND = re.compile(
    r"^fxls: ([\w-]+): node (\w+) of \w+, line \d+ of \w+\.py: (.*)\n"
    r'  File ".*", line \d+, in forward\n'
    r"    .*\n"
    r"(?:  .*\n)*?"
    r'  File "(.*)", line \d+, in .*\n'
    r"    (.*)\n",
    re.M,
)


@pytest.fixture(autouse=True)
def fresh() -> None:
    cast("Any", torch)._dynamo.reset()


def found(capfd: pytest.CaptureFixture[str]) -> list[tuple[str, ...]]:
    """Rule, node, what is wrong, and the line of the source, of each report."""
    reports = FOUND.findall(capfd.readouterr().err)
    assert all(Path(path) == Path(nets.__file__) for *_, path, _ in reports)
    return [(rule, node, said, line) for rule, node, said, _, line in reports]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_value_in_what_is_compiled(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    backend: str,
) -> None:
    fxls.break_on("nan")
    compiled = compiler(nets.Rooted(), backend=backend)
    with caplog.at_level(logging.WARNING, "fxls"):
        compiled(torch.tensor([-1.0]))
    node = "sqrt" if backend == "aot_eager" else "root"
    assert found(capfd) == [
        ("nan", node, "1 of 1 is NaN", "root = torch.sqrt(x)"),
    ]
    said = [one.message for one in caplog.records if one.name == "fxls"]
    replaced = (
        "fxls: what inductor would compile runs node by node, as torch.compile captured it,"
        " because values are watched"
    )
    assert said == ([replaced] if backend == "inductor" else [])


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_gradient_in_what_is_compiled(
    store: Store, capfd: pytest.CaptureFixture[str], backend: str
) -> None:
    fxls.break_on("grad-nan")
    compiled = compiler(nets.FlatRoot(), backend=backend)
    compiled(torch.ones(2, requires_grad=True)).backward()
    ((rule, _, said, line),) = found(capfd)
    assert (rule, line) == ("grad-nan", "flat = torch.relu(x) * 0")
    made = "its backward makes a gradient of relu, of which "
    # The backward that AOTAutograd makes is a listing of its own.
    assert said == ("" if backend == "aot_eager" else made) + "2 of 2 are NaN"


def test_a_gradient_of_a_parameter_names_who_uses_it_and_not_its_other_name(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    """The graph of torch.compile begins with further names of what it is given."""
    fxls.break_on("grad-nan")
    model = nets.Scaled()
    compiled = compiler(model, backend="eager")
    model.scale.data.zero_()
    compiled(torch.zeros(2)).backward()
    said = "its backward makes a gradient of l_self_parameters_scale_, of which"
    assert found(capfd) == [
        (
            *("grad-nan", "sqrt", f"{said} 2 of 2 are NaN"),
            "return (torch.sqrt(self.scale) * x).sum()",
        )
    ]


@needs_inductor
def test_what_was_compiled_before_is_compiled_again(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled = compiler(nets.Rooted(), backend="fxls", options={"backend": "inductor"})
    compiled(torch.tensor([-1.0]))
    fxls.break_on("nan")
    compiled(torch.tensor([-1.0]))
    assert [node for _, node, _, _ in found(capfd)] == ["root"]
    fxls.break_on()
    compiled(torch.tensor([-1.0]))
    assert found(capfd) == []


def test_a_value_in_an_exported_program(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    fxls.break_on("nan", "shape")
    exported = cast("Any", torch.export).export(nets.Rooted(), (torch.ones(1),))
    exported.module()(torch.tensor([-1.0]))
    assert found(capfd) == [
        ("nan", "sqrt", "1 of 1 is NaN", "root = torch.sqrt(x)"),
    ]


def test_a_shape_in_what_is_compiled(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    class Growing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nonzero(x).sum()

    fxls.break_on("shape")
    compiler(Growing(), backend="eager")(torch.ones(2))
    assert found(capfd) == []


def test_compiling_a_watched_module_sees_no_check(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    fxls.break_on("nan", "grad-nan")
    gm = cast("Any", torch.fx).symbolic_trace(nets.Rooted())
    compiled = compiler(gm, backend="eager", fullgraph=True)
    compiled(torch.tensor([-1.0]))
    assert "nan: node sqrt of " in capfd.readouterr().err
