"""What Dynamo captured is judged by what Python does on the same values."""

from __future__ import annotations

import dataclasses
import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.runtime.numbers.as_python import asking
from fxls.runtime.numbers.comparing import compared
from fxls.runtime.numbers.judgements import Judgements
from fxls.verdicts.comparison import Comparison
from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    any_torch,
    blamed,
    without_kernels,
)

pytestmark = COMPILING

factor = [2.0]
functorch: Any = any_torch.func


@any_torch._dynamo.assume_constant_result
def constant() -> float:
    """What a program promises never changes."""
    return factor[0]


@pytest.fixture(autouse=True)
def _promised() -> Iterator[None]:
    factor[0] = 2.0
    yield
    factor[0] = 2.0


def unguarded(guards: list[object]) -> list[bool]:
    """Let a graph be used whatever has changed."""
    return [False for _ in guards]


def found_in(
    numbers: Numbers, function: Callable[..., Any], *given: Any, **how: Any
) -> Comparison:
    """What is found in a function that is called, and called again when the factor is
    another one.
    """
    compiled = any_torch.compile(function, backend="eager", **how)
    compiled(*given)
    factor[0] = 5.0
    compiled(*given)
    return numbers.found()


def stale(
    numbers: Numbers, function: Callable[..., Any], *given: Any, **how: Any
) -> Blamed:
    found = found_in(numbers, function, *given, **how)
    assert found.faults, found.unseen
    assert found.faults[0].confirmed == (
        "the function was called once more, by Python alone and on the same values; "
        "in call 2 of its graph, and not in the first"
    )
    return blamed(found.faults[0])


def of_dynamo(node: str, code: str, stage: str = "") -> Blamed:
    return Blamed("capture", stage, "", (node,), code)


x = torch.linspace(-2, 2, 12).reshape(3, 4)


# -- what is wrong -------------------------------------------------------------------


def test_a_constant_that_changed_is_the_fault_of_the_node_that_reads_it(
    numbers: Numbers,
) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * constant()

    assert stale(numbers, net, x) == of_dynamo("mul", "torch.tanh(x) * constant()")


def test_a_branch_that_python_does_not_take_is_named(numbers: Numbers) -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if factor[0] > 4:
                return torch.tanh(x)
            y = torch.relu(x)
            return y + 1

    options = {"guard_filter_fn": unguarded}
    compiled = any_torch.compile(Net(), backend="eager", options=options)
    compiled(x)
    factor[0] = 5.0
    compiled(x)

    (fault,) = numbers.found().faults
    assert blamed(fault) == of_dynamo("y", "torch.relu(x)")
    assert fault.evidence.reason == "Python does not come to its line"


def test_a_polyfill_that_does_something_else_is_named(numbers: Numbers) -> None:
    def halved(x: torch.Tensor) -> torch.Tensor:
        return x / 2

    def polyfill(x: torch.Tensor) -> torch.Tensor:
        return x / 3

    substitute = any_torch._dynamo.substitute_in_graph
    substitute(halved, skip_signature_check=True)(polyfill)

    def net(x: torch.Tensor) -> torch.Tensor:
        return halved(x).exp()

    any_torch.compile(net, backend="eager")(x)

    (fault,) = numbers.found().faults
    assert blamed(fault) == of_dynamo("truediv", "x / 3")


def test_a_write_of_a_constant_is_named(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = constant()
        y[1].mul_(3)
        return y.sum(-1)

    found = stale(numbers, net, x)

    assert found.nodes == ("setitem",)
    assert found.code.startswith("y[0]")  # torch 2.15 underlines less


def test_in_a_loop_the_round_is_named(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        for at in range(3):
            x = torch.sin(x) * (constant() if at == 1 else 1.5)
        return x

    found = stale(numbers, net, x)

    assert found.nodes == ("x_1",)


def test_behind_a_graph_break_and_before_one(numbers: Numbers) -> None:
    def behind(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        any_torch._dynamo.graph_break()
        z = y * constant()
        return z.cos()

    def before(x: torch.Tensor) -> torch.Tensor:
        y = x.exp() * constant()
        any_torch._dynamo.graph_break()
        return y.cos()

    assert stale(numbers, behind, x).code == "y * constant()"
    numbers.forget()
    factor[0] = 2.0
    assert stale(numbers, before, x).code == "x.exp() * constant()"


def test_the_arguments_are_those_of_the_call(numbers: Numbers) -> None:
    def net(x: torch.Tensor, /, *rest: Any, by: float, **more: Any) -> torch.Tensor:
        y = (x + rest[0]) * constant()
        return y * by + more["bias"]

    def call(x: torch.Tensor) -> torch.Tensor:
        return net(x, x * 2, by=0.5, bias=x)

    assert stale(numbers, call, x).code == "(x + rest[0]) * constant()"


def test_what_a_closure_holds_is_there(numbers: Numbers) -> None:
    weight, count = torch.arange(4.0), 3

    def net(x: torch.Tensor) -> torch.Tensor:
        return (x * weight + count) * constant()

    assert stale(numbers, net, x).code == "(x * weight + count) * constant()"


@pytest.mark.parametrize("backend", ["eager", without_kernels])
def test_the_node_has_both_values_in_its_listings(
    numbers: Numbers, backend: Any
) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(x) * constant()

    compiled = any_torch.compile(net, backend=backend)
    compiled(x)
    factor[0] = 5.0
    compiled(x)
    judgements = Judgements(numbers.kept.listings_of)
    compared(numbers.compilations, numbers.kept.copies, judgements=judgements)

    said = [one for one in judgements.events if one.step == "Dynamo"]
    assert "graph 0" in said[0].revision.identity.stage
    assert {(v.node, v.is_wrong, v.sides) for one in said for v in one.values} == {
        ("mul", True, "eager 5, compiled 2 at [0, 0]")
    }


def test_a_module_of_torchs_own_is_named_at_the_call(numbers: Numbers) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    compiled = any_torch.compile(
        net, backend="eager", options={"guard_filter_fn": unguarded}
    )
    compiled(x)
    net.eval()
    compiled(x)

    (fault,) = numbers.found().faults
    assert fault.kind == "capture"
    (named,) = fault.where
    assert (named.target, named.submodule) == (
        "torch.nn.functional.batch_norm",
        "1 (BatchNorm1d)",
    )
    assert named.is_call


def test_what_makes_no_difference_is_nobodys_fault(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        unused = x * constant()
        return x.sin() + unused * 0

    found = found_in(numbers, net, x)

    assert found.faults == ()
    assert found.is_clear


def test_what_no_node_tells_is_suspect(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        for _ in range(int(constant())):
            x = x * 1.5
        return x

    found = found_in(numbers, net, x)

    assert found.faults == ()
    (said,) = found.unseen
    assert (said.what, said.why, said.is_suspect) == (
        "what Dynamo captured",
        (
            "Python returns something else, and nobody can tell by which node; "
            "in call 2 of its graph"
        ),
        True,
    )
    assert not found.is_clear


# -- what is not ---------------------------------------------------------------------


@dataclasses.dataclass
class Both:
    one: torch.Tensor
    other: torch.Tensor


class Named(NamedTuple):
    one: torch.Tensor
    other: torch.Tensor


class Counting(nn.Module):
    """It changes itself, its buffer and what it returns from call to call."""

    mean: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.count, self.seen = 0, list[int]()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.seen.append(self.count)
        self.mean.add_(x.mean(0))
        return x * self.count if self.count > 2 else x + self.mean


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]  # as torch has it
        return x * 2

    @staticmethod
    def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]  # as torch has it
        return gradient * 2


def summed(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def doubled(x: torch.Tensor) -> Any:
    function: Any = Doubled
    return function.apply(x)


def both(x: torch.Tensor) -> Any:
    return Both(x.sin(), x.cos())


def named(x: torch.Tensor) -> Any:
    return Named(x * 1, x * 2)


def overwritten(x: torch.Tensor) -> Any:
    return x.mul_(1.5)


def mapped(x: torch.Tensor) -> Any:
    return functorch.vmap(torch.sum)(x)


def derived(x: torch.Tensor) -> Any:
    return functorch.grad(summed)(x)


def transformed(x: torch.Tensor) -> Any:
    return any_torch.fft.fft(x).abs()


def compiled_otherwise(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if any_torch.compiler.is_compiling() else x + x + x


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[1:3] = 0
    y.t().mul_(2)
    y[:, ::2].add_(1)
    y += 1
    return y


def comprehended(x: torch.Tensor) -> Mapping[str, torch.Tensor]:
    rows = torch.stack([x[at] * at for at in range(3)])
    return dict(zip("abc", rows.unbind(0), strict=True))


def generated(x: torch.Tensor) -> torch.Tensor:
    def rows() -> Iterator[torch.Tensor]:
        for at in range(3):
            yield x[at] * at

    return torch.stack([*rows()])


def unset(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty(3, 4)
    y.copy_(x)
    return y * 2


def cast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.t()


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    if y.sum() > 0:
        return y.cos() * 2
    return y.tan() * float(y.mean())


def chosen(x: torch.Tensor) -> torch.Tensor:
    return any_torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def by_numpy(x: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = any_torch.from_numpy(x.numpy() * 2)
    return made


def drawn(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.5) + torch.rand(4) * random.random()


def looped(x: torch.Tensor) -> torch.Tensor:
    for _ in range(60):
        x = x * 1.01 + 0.5
    return x


def masked(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.masked_fill(x > 0, float("nan")), x.softmax(-1).topk(2).indices


class Case(NamedTuple):
    function: Callable[[torch.Tensor], Any]
    inputs: tuple[torch.Tensor, ...] = (x,)


CLEAN = {
    "itself": Case(Counting()),
    "dataclass": Case(both),
    "named tuple": Case(named),
    "dict": Case(comprehended),
    "generator": Case(generated),
    "in place": Case(in_place),
    "its input": Case(overwritten, (x.clone(),)),
    "unset memory": Case(unset),
    "asks whether it is compiled": Case(compiled_otherwise),
    "graph break": Case(broken),
    "cond": Case(chosen),
    "vmap": Case(mapped),
    "grad": Case(derived),
    "autograd function": Case(doubled, (x.clone().requires_grad_(),)),
    "autocast": Case(cast),
    "numpy": Case(by_numpy),
    "random": Case(drawn),
    "loop": Case(looped),
    "nan and indices": Case(masked),
    "complex": Case(transformed),
    "dropout": Case(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))),
    "batch norm": Case(nn.BatchNorm1d(4)),
    "recurrent": Case(nn.GRUCell(4, 4)),
    "encoder": Case(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        (torch.randn(2, 3, 8),),
    ),
    "bfloat16": Case(
        nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16)).bfloat16(),
        (torch.randn(2, 8, dtype=torch.bfloat16),),
    ),
}


@pytest.mark.filterwarnings("ignore")  # torch warns of what some of them do
@pytest.mark.parametrize("case", CLEAN.values(), ids=[*CLEAN])
def test_a_right_graph_is_nobodys_fault(numbers: Numbers, case: Case) -> None:
    compiled = any_torch.compile(case.function, backend="eager")
    for _ in range(4):
        compiled(*case.inputs)

    found = numbers.found()

    assert found.graphs
    assert found.faults == ()
    assert [one for one in found.unseen if one.is_suspect] == []


# -- what it may not do --------------------------------------------------------------


def test_the_program_goes_on_as_it_would(numbers: Numbers, tmp_path: Path) -> None:
    """Its generators, its files and its modules are not what Python was called with."""
    log, net = tmp_path / "log", Counting()

    def noted(x: torch.Tensor) -> torch.Tensor:
        y = net(torch.rand(3, 4) + x)
        with log.open("a") as file:
            file.write("called\n")
        return y

    any_torch.manual_seed(7)
    expected = [noted(x) for _ in range(3)]
    log.unlink()
    net.__init__()
    any_torch.manual_seed(7)
    compiled = any_torch.compile(noted, backend="eager")

    assert all(map(torch.equal, [compiled(x) for _ in range(3)], expected))
    assert log.read_text() == "called\n" * 3
    assert net.count == 3
    assert numbers.found().faults == ()


def test_memory_that_other_processes_have_is_left_as_it_is(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).sum()

    given: Any = torch.zeros(4)
    given.share_memory_()
    compiled = any_torch.compile(net, backend="eager")

    assert [float(compiled(given)) for _ in range(3)] == [4.0, 8.0, 12.0]
    assert numbers.found().is_clear
    assert given.tolist() == [3.0] * 4


def test_what_cannot_be_asked_is_said(numbers: Numbers) -> None:
    def net(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.t()

    any_torch.compile(net, backend="eager")(x)

    assert said_of_capture(numbers) == ["it switches autocast"]


def test_it_takes_no_more_memory_than_there_is(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers.kept.copies, "left", 3 << 20)
    any_torch.compile(sine_of_sine, backend="eager")(torch.ones(1 << 18))

    assert said_of_capture(numbers) == ["that needs 9 MB, and 2 MB are left"]


def sine_of_sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin().sin()


def said_of_capture(numbers: Numbers) -> list[str]:
    unseen = numbers.found().unseen
    return [one.why for one in unseen if one.what == "what Dynamo captured"]


def test_where_one_gives_no_answer_no_other_is_asked(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        time.sleep(60)

    monkeypatch.setattr(asking, "Child", functools.partial(asking.Child, seconds=0.3))
    monkeypatch.setattr(asking, "compare_with_python", never)
    for function in (torch.sin, torch.cos, torch.tan, torch.exp):
        any_torch.compile(function, backend="eager")(x)

    assert said_of_capture(numbers) == [
        *["its process ended without an answer"] * 2,
        *["a process before it gave no answer in time"] * 2,
    ]
