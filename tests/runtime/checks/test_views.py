"""Views that are only counted change nothing of what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls.attempt import Raised, attempt
from fxls.rules import Rule
from fxls.runtime import running_code
from fxls.runtime.checks.instrumented import instrumented
from fxls.store import Store
from tests.runtime.checks.gradient_cases import Called, models

fx: Any = torch.fx
Forward = Callable[[Any], Any]


class Rows(nn.Module):
    """What its views shall be is given to it."""

    def forward(self, x: Any, rows: int = 2, order: Any = (1, 0)) -> Any:
        return (x.view(rows, -1).permute(order) * 0).sqrt().sum()


def a_view_with_sizes(x: Any) -> Any:
    parts = (x + 1).view(x.size(0) // 2, 2).transpose(0, 1)
    return (parts * 0).sqrt().reshape(-1).exp().sum()


def parts_in_other_shapes(x: Any) -> Any:
    first, _ = torch.split(x.detach().requires_grad_() * 2, x.shape[0] // 2)
    return (first.unsqueeze(0).squeeze(0).reshape(2, 1) * 0).sqrt().sum() + x.sum()


def a_chain_of_views(x: Any) -> Any:
    root = (x * 0).view(2, 2).t().unsqueeze(0).flatten()
    return torch.sqrt(root).sum()


def a_view_changed_in_place(x: Any) -> Any:
    scaled = x * 1
    parts = scaled.view(2, 2)
    parts.mul_(0)
    return scaled.view(2, 2).sqrt().sum()


def a_view_of_what_changes(x: Any) -> Any:
    scaled = x * 1
    parts = scaled.view(2, 2).t()
    changed = scaled.mul_(0)
    return (parts.sqrt() + changed.view(2, 2)).sum()


def a_copy_of_what_changes(x: Any) -> Any:
    turned = (x * 1).view(2, 2).t()
    copy = turned.reshape(4)
    root = (copy * 0).sqrt()
    return root.sum() + turned.add_(5).sum()


def a_view_of_what_is_turned_in_place(x: Any) -> Any:
    square = (x * 1).view(2, 2).add(1)
    square.t_()
    return (square.unsqueeze(0).squeeze(0) * 0).sqrt().sum()


def parts(x: Any) -> Any:
    first, second = torch.split((x * 0).view(4), 2)
    return (first.sqrt() * second.view(1, 2)).sum()


def a_view_that_is_none(x: Any) -> Any:
    return ((x * 0).reshape(4).reshape(4).sqrt().view(4) * 2).sum()


def a_bad_value(x: Any) -> Any:
    return torch.log(x - 9).view(2, 2).t().add(1).view(4).exp().sum()


def bad_in_place(x: Any) -> Any:
    scaled = x * 1
    scaled.sub_(9).log_()
    return scaled.view(2, 2).t().exp().sum()


def no_dense_tensor(x: Any) -> Any:
    sparse = torch.diag(x).to_sparse()
    dense = sparse.transpose(0, 1).to_dense().view(16)
    return (dense * 0).sqrt().sum()


def no_strides(x: Any) -> Any:
    rows = x.view(1, 4)
    moved = nested(rows * 0, rows).transpose(1, 2)
    return moved.to_padded_tensor(0.5).sqrt().sum()


def half_without_history(x: Any) -> Any:
    seen = x.detach().view(2, 2).t()
    return (seen * (x * 0).view(2, 2).sqrt()).sum()


class Tagged(torch.Tensor):
    """A class of the user's, whose views do something else as well."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = cast("Any", super()).__torch_function__(func, types, args, kwargs or {})
        if getattr(func, "__name__", "") == "view":
            return (made - made).sqrt() + made
        return made


def of_a_class(x: Any) -> Any:
    return tagged(x).view(2, 2).t().exp().sum()


def tagged(x: torch.Tensor) -> Any:
    return x.as_subclass(Tagged)


def nested(one: torch.Tensor, other: torch.Tensor) -> Any:
    return cast("Any", torch).nested.as_nested_tensor([one, other])


fx.wrap("tagged")
fx.wrap("nested")

FUNCTIONS: list[Forward] = [
    a_view_with_sizes,
    parts_in_other_shapes,
    a_chain_of_views,
    a_view_changed_in_place,
    a_view_of_what_changes,
    a_copy_of_what_changes,
    a_view_of_what_is_turned_in_place,
    parts,
    a_view_that_is_none,
    a_bad_value,
    bad_in_place,
    no_dense_tensor,
    no_strides,
    half_without_history,
    of_a_class,
]
RULES = [("nan", "grad-nan"), ("nan",), ("inf", "grad-nan"), ("grad-nan",)]


@pytest.mark.parametrize("rules", RULES, ids="+".join)
@pytest.mark.parametrize(
    "model",
    [*(pytest.param(Called(one), id=one.__name__) for one in FUNCTIONS), Rows()],
)
def test_the_reports_are_those_of_views_that_are_looked_at(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: nn.Module,
    rules: tuple[str, ...],
) -> None:
    gm = fx.symbolic_trace(model)
    counted = reports(gm, rules, capfd)
    monkeypatch.setattr(running_code, "_OF_KINDS", frozenset(Rule))
    assert counted == reports(gm, rules, capfd)
    assert counted or "grad-nan" not in rules, "something is wrong with each"


@pytest.mark.slow
def test_so_are_those_of_the_models_whose_gradients_are_bad(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = ("grad-nan",)
    traced = {case: fx.symbolic_trace(make()) for case, make in models().items()}
    counted = {case: reports(gm, rules, capfd) for case, gm in traced.items()}
    monkeypatch.setattr(running_code, "_OF_KINDS", frozenset(Rule))
    assert counted == {case: reports(gm, rules, capfd) for case, gm in traced.items()}


def reports(
    gm: Any, rules: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> list[str]:
    """All that is said of one step of training, without addresses."""
    fxls.break_on(*rules)
    x = torch.tensor([0.5, 1.5, 1.0, 2.0], requires_grad=True)
    cast("Any", torch).manual_seed(0)
    gm.zero_grad()
    outcome = attempt(lambda: gm(x).sum().backward())
    fxls.break_on()
    said = re.sub(r"0x[0-9a-f]+", "0x", capfd.readouterr().err)
    return [*said.splitlines(), *([str(outcome)] * isinstance(outcome, Raised))]


def test_a_view_that_is_only_counted_is_asked_for() -> None:
    text = (
        "def forward(self, x):\n"
        "    size = x.size(0)\n"
        "    view = x.view(size, -1)\n"
        "    transpose = view.transpose(0, 1)\n"
        "    added = x.view(-1)\n"
        "    add = added + 1\n"
        "    relu = torch.relu(transpose)\n"
        "    last = relu.view(-1)\n"
        "    return last, add\n"
    )
    names = code_names(text)
    asked = [name for name, asks in names.items() if asks]
    assert asked == ["view", "transpose"], "not what is compared, and not what leaves"
    assert instrumented(text, "x.py", views=False).feeding_views == {
        *("x", "size", "view")
    }


def code_names(text: str) -> dict[str, bool]:
    """By name of what is checked: whether it is only asked for while all is well."""
    calls: list[tuple[str, str]] = []
    code = instrumented(text, "x.py", views=False).code

    def asks(name: str) -> bool:
        calls.append(("asks", name))
        return True

    def check(name: str, value: object) -> bool:
        calls.append(("checks", name))
        return False

    names: dict[str, Any] = {"torch": torch}
    names |= {"__fxls_asks__": asks, "__fxls_check__": check}
    FunctionType(code, names)(None, torch.ones(4))
    return {
        name: ("asks", name) in calls
        for kind, name in calls
        if kind == "checks" and name
    }
