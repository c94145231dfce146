"""What the engine uses of torch's insides is there, name by name."""

from __future__ import annotations

import pytest

from fxls import installed_torch
from fxls.engine import torch_private as of_engine
from fxls.runtime import torch_private as of_runtime


def test_there_is_much_that_is_looked_up() -> None:
    assert len(installed_torch.looked_up) > 25
    assert "pytree" in of_engine.__all__
    assert "compile_id" in of_runtime.__all__


@pytest.mark.parametrize("name", sorted(installed_torch.looked_up))
def test_torch_has_it_or_nothing_is_off_without_it(name: str) -> None:
    without = installed_torch.lacking.get(name)
    assert without is None, f"torch has no {name}: {without}"
