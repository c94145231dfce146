"""The tracer of modelopt goes on where a part cannot be traced, and says which."""

from __future__ import annotations

import importlib
from typing import Any

from torch import nn

trace: Any = importlib.import_module("modelopt.torch.trace.tracer")
graphs: Any = importlib.import_module("modelopt.torch.utils.graph")


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x) if x.sum() > 0 else x


class Loop(nn.Module):
    def forward(self, x: Any) -> Any:
        for i in range(x.shape[0]):
            x = x + i
        return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.branch, self.loop = nn.Linear(4, 4), Branch(), Loop()

    def forward(self, x: Any, doubled: bool = True) -> Any:  # noqa: FBT001, FBT002 - as models have it
        x = self.loop(self.branch(self.stem(x)))
        return x + x if doubled else x


def found(model: Any) -> dict[str, list[str]]:
    """Per part that was traced, by its name, the targets of its nodes."""
    collection = trace.recursive_trace(model)
    names: dict[Any, str] = {part: name for name, part in model.named_modules()}
    return {
        names[part]: [str(node.target) for node in collection[part].nodes]
        for part in collection
    }


def test_parts_that_cannot_be_traced_are_calls_and_what_is_in_them_is_traced() -> None:
    traced = found(Model())

    assert list(traced) == ["", "branch.linear"]
    parts = ("stem", "branch", "loop")
    assert tuple(target for target in traced[""] if target in parts) == parts


def test_what_failed_says_why() -> None:
    model: Any = Model()

    collection = trace.recursive_trace(model)

    failed = [
        name for name, part in model.named_modules() if collection.is_failed(part)
    ]
    assert failed == ["branch", "loop"]
    assert "control flow" in collection.failure_msg(model.branch)
    assert collection.failure_msg(model.loop).startswith("TypeError")


def test_a_list_of_modules_is_traced_part_by_part() -> None:
    traced = found(nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Linear(4, 4)]))

    assert traced == {
        "": [],
        "0": ["input", "0", "output"],
        "1": ["input", "", "output"],
    }


def test_a_model_is_matched_by_patterns() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    assert graphs.match(model, [nn.Sequential(nn.Linear(2, 8), nn.ReLU())])
    assert not graphs.match(model, [nn.Sequential(nn.ReLU(), nn.Linear(2, 8))])
