"""Values of a traced program can be given types."""

from __future__ import annotations

import pytest
import torch

from fxls import engine as fx
from fxls.engine.annotate import annotate


def test_a_value_has_the_type_that_it_was_given() -> None:
    def program(x):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]  # a parameter with a type is refused
        return annotate(torch.relu(annotate(x, torch.Tensor)), torch.Tensor)  # pyright: ignore[reportUnknownArgumentType]  # as above

    module = fx.symbolic_trace(program)  # pyright: ignore[reportUnknownArgumentType]  # as above

    assert [node.type for node in module.graph.nodes] == [
        torch.Tensor,
        torch.Tensor,
        None,
    ]
    assert "relu : torch.Tensor = torch.relu(x)" in module.code


def test_a_type_is_given_once() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return annotate(x, int)

    with pytest.raises(RuntimeError, match=r"already had a type.*torch\.Tensor.*int"):
        fx.symbolic_trace(program)


def test_another_value_stays_as_it_is() -> None:
    one = torch.ones(1)

    assert annotate(one, int) is one
