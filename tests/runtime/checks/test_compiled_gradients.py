"""Under torch.compile as well, the line that made a NaN is the one of anomaly mode."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls.attempt import attempt
from fxls.store import Store
from tests.runtime.checks import gradient_cases

torch_: Any = torch
NOT_RANDOM = {
    case: make
    for case, make in gradient_cases.models().items()
    if not case.startswith("random")
}


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    torch_.compiler.reset()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model_names_the_source_line_of_anomaly_mode(
    store: Store, capfd: pytest.CaptureFixture[str], backend: str
) -> None:
    known: dict[str, int | None] = {}
    found: dict[str, int | None] = {}
    for case, make in NOT_RANDOM.items():
        known[case] = named_by_torch(make())
        found[case] = named_by_fxls(make(), backend, capfd, known[case])
    assert found == known
    planted = sum(line is not None for line in known.values())
    assert (len(known), planted) == (54, 51), "the numbers in docs/debugging.md"


@pytest.mark.slow
@pytest.mark.parametrize("rules", [("grad-nan",), ("nan", "grad-nan")])
def test_what_the_forward_kept_is_no_gradient(
    store: Store, capfd: pytest.CaptureFixture[str], rules: tuple[str, ...]
) -> None:
    """Its NaN is hidden in the forward, and the backward reads it."""

    class Hidden(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x / (x - x)).nan_to_num().sum() + x.sum()

    fxls.break_on(*rules)
    compiled: Any = torch_.compile(Hidden(), backend="aot_eager")
    compiled(torch.zeros(2, requires_grad=True)).backward()
    said = capfd.readouterr().err
    assert re.findall(r"^fxls: (\S+): node (\w+) of", said, re.M) == [
        *([("nan", "div")] if "nan" in rules else []),
        *[("grad-nan", "mul_2"), ("grad-nan", "div_3")],
    ], "the two gradients of a division"


@pytest.mark.slow
def test_a_formula_that_replaces_its_nan_is_silent(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    class Spread(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 1 / (x.std() + 1)

    fxls.break_on("grad-nan")
    compiled: Any = torch_.compile(Spread(), backend="aot_eager")
    x = torch.ones(3, requires_grad=True)
    compiled(x).backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros(3))
    assert "node" not in capfd.readouterr().err


class SumOfInfinite(nn.Module):
    """Infinite gradients of both signs come to what a linear layer gives."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc((x * 2).reshape(1, 4))
        return (y * 3e38 * 10).sum() + (y * -3e38 * 10).sum()


class SumOfInput(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 3e38 * 10).sum() + (x * -3e38 * 10).sum()


class SumOfBad(nn.Module):
    """Bad gradients, which are added up on their way to a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 1, bias=False)
        nn.init.zeros_(self.conv.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        both = self.conv(x.reshape(1, 1, 4))
        first, second = both[:, 0], both[:, 1]
        return torch.sqrt(first * first + second * second).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "named"),
    [
        (SumOfInfinite, ["mm"]),
        (SumOfInput, ["add_1"]),
        (SumOfBad, ["mul_3", "mul_5"]),
    ],
)
def test_of_what_a_sum_of_gradients_goes_to_one_node_is_named(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    model: type[nn.Module],
    named: list[str],
) -> None:
    """That which makes the NaN; the sum, where the graph returns it."""
    fxls.break_on("grad-nan")
    compiled: Any = torch_.compile(model(), backend="aot_eager")
    for _ in range(2):
        x = torch.zeros(4, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None
        assert x.grad.isnan().all()
    found = re.findall(r"^fxls: (\S+): node (\w+) of", capfd.readouterr().err, re.M)
    assert found == [("grad-nan", name) for name in named]


def run_backward(model: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.tensor([0.5, 1.5, -1.0, 2.0], requires_grad=True)
    cast("Any", model(x).sum()).backward()


def named_by_torch(model: nn.Module) -> int | None:
    """The line of the source that anomaly mode shows for the model without fxls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch_.autograd.detect_anomaly():
            error = attempt(lambda: run_backward(model))
    if error is None:
        return None
    assert "returned nan values" in str(error)
    return lines_of("".join(str(one.message) for one in caught))[-1]


def named_by_fxls(
    model: nn.Module,
    backend: str,
    capfd: pytest.CaptureFixture[str],
    known: int | None,
) -> int | None:
    """The line of the first report; the known one when that calls a backward.

    The graph has the lines of a backward that people write, and anomaly mode has not.
    """
    torch_.compiler.reset()
    fxls.break_on("grad-nan")
    run_backward(torch_.compile(model, backend=backend, fullgraph=True))
    fxls.break_on()
    reports = capfd.readouterr().err.split("fxls: grad-nan: ")
    if len(reports) == 1:
        return None
    lines = lines_of(reports[1])
    if known in lines and ".backward\n" in reports[1]:
        return known
    return lines[-1]


def lines_of(text: str) -> list[int]:
    path = re.escape(gradient_cases.__file__)
    return [int(line) for line in re.findall(rf'File "{path}", line (\d+)', text)]
