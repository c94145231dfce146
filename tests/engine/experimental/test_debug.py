"""A module can be made to stop where its generated code begins."""

from __future__ import annotations

import pdb  # noqa: T100 - what is replaced here
from typing import Any

import pytest
import torch

from fxls import engine as fx
from fxls.engine.experimental.debug import set_trace


def program(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def test_the_code_stops_first_and_until_the_next_recompile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stops: list[str] = []

    def stop(*_header: Any) -> None:
        stops.append("stop")

    monkeypatch.setattr(pdb, "set_trace", stop)
    module = fx.symbolic_trace(program)
    before = module.code

    assert set_trace(module) is module
    first = module.code.split("\n    ")[1]
    assert first == "import pdb; pdb.set_trace()"
    assert module(torch.ones(1)).item() == 1
    assert stops == ["stop"]
    module.recompile()
    assert module.code == before


def test_a_transformer_of_the_code_stays_in_force() -> None:
    def longer(body: list[str]) -> list[str]:
        return ["said = 1\n", *body]

    module = fx.symbolic_trace(program)
    module.graph.on_generate_code(lambda _before: longer)

    set_trace(module)
    assert module.code.split("\n    ")[1:3] == [
        "import pdb; pdb.set_trace()",
        "said = 1",
    ]
