"""Which code the functions of a listing run: its own, in sections, or with calls."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import fxls
from fxls.engine import symbolic_trace
from fxls.listing import Origin
from fxls.rules import BrokenRule, OnBreak, Rule
from fxls.runtime.checks.instrumented import CHECK
from fxls.runtime.installing import current
from fxls.runtime.listings.sections import DRIVER
from fxls.runtime.running_code import RunningCode
from fxls.store import Store
from tests.runtime.producers.looking import forward_of, path_of


class Long(nn.Module):
    """Each line of 300 is another node."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x
        for _ in range(150):
            x = x + 1
            x = torch.relu(x)
        return x - first


@pytest.fixture(params=["engine", "torch.fx"])
def long(request: pytest.FixtureRequest, store: Store) -> Any:
    """A module that runs a listing of 300 lines."""
    trace: Callable[[nn.Module], Any]
    trace = symbolic_trace if request.param == "engine" else torch.fx.symbolic_trace
    module = trace(Long())
    module(torch.ones(2))
    assert path_of(module).parent == store.root
    return module


def test_a_listing_with_a_breakpoint_runs_in_sections_until_it_has_none(
    long: Any,
) -> None:
    function, path = forward_of(long), path_of(long)
    whole = function.__code__
    running_code().break_into(frozenset({path}))
    assert function.__code__.co_filename == f"{DRIVER}{path}>"
    assert is_right(long)
    running_code().break_into(frozenset({path.with_name("other.py")}))
    assert (function.__code__, path_of(long)) == (whole, path)
    assert is_right(long)


def test_a_function_that_is_made_later_runs_in_sections_as_well(long: Any) -> None:
    path = path_of(long)
    running_code().break_into(frozenset({path}))
    other = copy.deepcopy(long)
    assert is_right(other)
    assert forward_of(other).__code__.co_filename == f"{DRIVER}{path}>"


def test_rules_come_before_sections_and_go_before_them(long: Any) -> None:
    function, path = forward_of(long), path_of(long)
    running_code().break_into(frozenset({path}))
    running_code().set((Rule.NAN,), OnBreak.RAISE)
    assert (CHECK in function.__code__.co_names, path_of(long)) == (True, path)
    assert is_right(long)
    with pytest.raises(BrokenRule, match="node x of Long"):
        long(torch.full((2,), torch.nan))
    running_code().set((), OnBreak.REPORT)
    assert function.__code__.co_filename == f"{DRIVER}{path}>"
    assert is_right(long)


def test_uninstall_leaves_the_whole_function(long: Any) -> None:
    path = path_of(long)
    running_code().break_into(frozenset({path}))
    fxls.uninstall()
    assert path_of(long) == path
    assert is_right(long)


@pytest.mark.parametrize("asked", ["sections", "rules", "nothing"])
@pytest.mark.parametrize("lines", [300, 1500])
def test_what_is_traced_anew_has_the_origins_that_it_had(
    asked: str, lines: int, store: Store
) -> None:
    module = symbolic_trace(chain(lines))
    expected = origins(module)
    assert store.owns(module_path(module))
    if asked == "sections":
        running_code().break_into(frozenset({module_path(module)}))
    elif asked == "rules":
        running_code().set((Rule.NAN,), OnBreak.RAISE)
    assert origins(symbolic_trace(module)) == expected


def chain(lines: int) -> nn.Module:
    class Chain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(lines // 2):
                x = operator.add(x, 1)
                x = torch.relu(x)
            return x

    return Chain()


def module_path(module: Any) -> Path:
    """The path of a listing, also where the function only calls sections."""
    name = forward_of(module).__code__.co_filename
    return Path(name.removeprefix(DRIVER).removesuffix(">"))


def origins(module: Any) -> list[tuple[Origin, ...]]:
    listing = fxls.listing_of(module)
    return [listing.origins(node) for node in range(len(listing.nodes))]


def running_code() -> RunningCode:
    installation = current()
    assert installation is not None
    return installation.running_code


def is_right(module: Any) -> bool:
    x = torch.tensor([1.0, -200.0])
    return torch.equal(module(x), Long()(x))
