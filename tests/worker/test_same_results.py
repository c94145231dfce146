"""Whether two runs came to the same: values of all kinds, also of files imported anew."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from fxls.worker.same_results import gradients, is_same

NAN = float("nan")

OWN = """
import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

@dataclass
class Output:
    logits: Any

@dataclass(slots=True)
class Slim:
    logits: Any

class Pair(NamedTuple):
    logits: Any
    hidden: Any = None

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

class Refusing:
    def __init__(self, logits):
        self.logits = logits
    def __eq__(self, other):
        raise ValueError("compare by hand")
    __hash__ = None

def relu(x):
    return x
"""


def imported() -> Any:
    """A file of the user's, as an import of it makes it."""
    module = ModuleType("net")
    exec(compile(OWN, "net.py", "exec", dont_inherit=True), vars(module))
    return module


def jagged(*rows: float) -> torch.Tensor:
    parts = [torch.full((index + 1,), row) for index, row in enumerate(rows)]
    any_torch: Any = torch
    return any_torch.nested.as_nested_tensor(parts, layout=torch.jagged)


VALUES: list[object] = [
    None,
    1,
    NAN,
    "text",
    {1, 2},
    [1, (2.0, {"a": NAN})],
    np.float32(NAN),
    np.array([1.0, NAN]),
    np.array(["text"]),
    torch.tensor([1.0, NAN]),
    torch.tensor([complex(1, 2)]),
    torch.eye(2).to_sparse(),
    torch.empty(3, device="meta"),
    jagged(1.0, 2.0),
    torch.float32,
    torch.nn.Parameter(torch.ones(2)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_copy_is_the_same_and_no_other_value_is(value: object) -> None:
    assert is_same(value, copy.deepcopy(value))
    assert [one for one in VALUES if is_same(value, one)] == [value]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ([1], (1,)),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.ones(2), torch.ones(2, requires_grad=True)),
        (torch.ones(2), torch.ones(1, 2)),
        (torch.ones(2), torch.tensor([1.0, NAN])),
        (torch.empty(3, device="meta"), torch.empty(4, device="meta")),
        (jagged(1.0, 2.0), jagged(1.0, 3.0)),
        (jagged(1.0, 2.0), jagged(1.0)),
        (np.array([1.0, NAN]), np.array([1.0, 2.0])),
        (np.ones(2), np.ones(2, dtype=np.float32)),
    ],
)
def test_what_differs_in_kind_or_in_a_number_is_not_the_same(
    one: object, other: object
) -> None:
    assert not is_same(one, other)


@pytest.mark.parametrize("name", ["Output", "Slim", "Pair", "Refusing"])
def test_an_object_of_a_file_that_was_imported_anew_is_what_it_holds(name: str) -> None:
    first, second = (getattr(imported(), name) for _ in range(2))
    assert is_same(first(torch.ones(2)), second(torch.ones(2)))
    assert not is_same(first(torch.ones(2)), second(torch.zeros(2)))
    assert not is_same(first(torch.ones(2)), imported().Pair(torch.ones(2), 1))


def test_a_member_and_a_function_of_such_a_file_are_known_by_their_names() -> None:
    first, second = imported(), imported()
    assert is_same(first.Mode.FAST, second.Mode.FAST)
    assert not is_same(first.Mode.FAST, second.Mode.SLOW)
    assert is_same(first.Output(first.relu), second.Output(second.relu))
    assert not is_same(first.Output(first.relu), second.Output(first.Mode))


def test_gradients_are_of_all_that_learns_and_tell_a_number_from_its_tensor() -> None:
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(2, requires_grad=True)
    kept: dict[str, Any] = {"itself": None, "layer": layer}
    kept["itself"] = kept

    def computed(scale: Any) -> dict[str, Any]:
        return {"y": [layer(x).softmax(0) * scale], "n": 3, "self": kept}

    number = gradients(computed(x.sum().item()), (kept, x))
    tensor = gradients(computed(x.sum().detach()), (kept, x))
    flowing = gradients(computed(x.sum()), (kept, x))

    assert number is not None
    assert len(number) == 3
    assert is_same(number, tensor)
    assert not is_same(number, flowing)
    assert all(one is not None and one.abs().sum() > 0 for one in number)


def test_where_nothing_learns_there_are_no_gradients() -> None:
    x: Any = torch.ones(2, requires_grad=True)
    done = x * 2
    freed = (x * x).exp()
    freed.sum().backward()
    assert gradients(torch.ones(2), x) is None
    assert gradients(done.detach(), x) is None
    assert gradients(done, torch.ones(2)) is None
    assert gradients(freed, x) is None  # torch computes them once
