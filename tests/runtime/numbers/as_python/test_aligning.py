"""Which node of a graph has the value that Python computes in the same line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from fxls.runtime.numbers.as_python.aligning import Aligned, Given, align
from fxls.runtime.numbers.as_python.python_values import Seen, short_name

any_torch: Any = torch


def seen(text: str) -> Sequence[Seen]:
    """What operations gave: ``mul=3`` each."""
    pairs = [one.split("=") for one in text.split()]
    return [Seen(name, [torch.tensor(float(value))]) for name, value in pairs]


def aligned(nodes: str, python: str, *, is_by_name: bool = True) -> Aligned:
    given = [Given(f"{at}", one) for at, one in enumerate(seen(nodes))]
    return align(given, seen(python), is_same, is_by_name=is_by_name)


def is_same(one: Seen, other: Seen) -> bool:
    return all(map(torch.equal, one.given, other.given))


def others(found: Aligned) -> Sequence[tuple[str, float]]:
    return [(one.node, float(other.given[0])) for one, other in found.others]


@pytest.mark.parametrize(
    ("nodes", "python", "same", "instead"),
    [
        ("sin=1 mul=2", "sin=1 mul=2", "01", []),
        ("sin=1 mul=2", "sin=1 mul=3", "0", [("1", 3.0)]),
        ("sin=1 mul=2 add=4", "sin=1 mul=3 add=4", "02", [("1", 3.0)]),
        # What Python reads besides, as the property of a tensor, is in no graph.
        ("sin=1 mul=2", "shape=7 sin=1 T=1 mul=2 T=2", "01", []),
        # The same value twice: each is the operation that has its name.
        ("tanh=1 mul=1", "tanh=1 mul=5", "0", [("1", 5.0)]),
        ("mul=1 tanh=1", "mul=5 tanh=1", "1", [("0", 5.0)]),
        # A loop comes to a line again and again.
        ("mul=1 mul=2 mul=3", "mul=1 mul=9 mul=3", "02", [("1", 9.0)]),
        # An operation may be called otherwise, as long as its value is the same.
        ("linear=1 mul=2", "addmm=1 mul=2", "01", []),
        # Each side has operations that the other one has not.
        ("add=1 norm=2 relu=3", "norm=4 relu=5 T=5", "", [("1", 4.0), ("2", 5.0)]),
        ("sin=1", "", "", []),
        ("", "sin=1", "", []),
        # Nobody can say which of two is which.
        ("mul=1 mul=2", "mul=3", "", []),
    ],
)
def test_nodes_are_found_in_the_order_of_python(
    nodes: str, python: str, same: str, instead: list[tuple[str, float]]
) -> None:
    found = aligned(nodes, python)

    assert found.same == {*same}
    assert others(found) == instead


def test_another_operation_is_one_in_its_place_where_the_forms_are_the_same() -> None:
    nodes, python = "sin=1 abs=2 add=4", "sin=1 relu=3 add=4"

    assert others(aligned(nodes, python)) == []
    assert others(aligned(nodes, python, is_by_name=False)) == [("1", 3.0)]


def test_beside_it_the_operations_of_the_same_name_are_paired() -> None:
    found = aligned("sub=2 mul=4 sum=5", "add=3 mul=6 sum=9", is_by_name=False)

    assert sorted(others(found)) == [("0", 3.0), ("1", 6.0), ("2", 9.0)]


def test_what_has_another_form_is_not_in_its_place() -> None:
    given = [Given("0", Seen("abs", [torch.ones(2)]))]
    python = [Seen("sum", [torch.ones(3)])]

    assert others(align(given, python, is_same, is_by_name=False)) == []


def test_a_loop_of_thousands_is_aligned() -> None:
    nodes = " ".join(f"mul={at}" for at in range(1000))
    python = " ".join(f"shape=0 mul={at}" for at in range(1000))

    found = aligned(nodes, python.replace("mul=999", "mul=1"))

    assert len(found.same) == 999
    assert others(found) == [("999", 1.0)]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (torch.mul, "mul"),
        (torch.Tensor.__rsub__, "sub"),
        ("mul_", "mul"),
        (torch.Tensor.__setitem__, "setitem"),
        (torch.Tensor.__itruediv__, "div"),
        (any_torch.Tensor.T.__get__, "getattr"),
        (getattr, "getattr"),
        ("relu", "relu"),
        (torch.rsqrt, "rsqrt"),
        (torch.isnan, "isnan"),
    ],
)
def test_an_operation_has_one_name_however_it_is_written(
    target: object, name: str
) -> None:
    assert short_name(target) == name
