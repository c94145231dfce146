"""What the engine uses of torch's insides is there, name by name."""

from __future__ import annotations

import pytest

import fxls.engine.torch_private
import fxls.runtime.torch_private  # noqa: F401 - as above
from fxls import installed_torch


@pytest.mark.parametrize("name", sorted(installed_torch.looked_up))
def test_torch_has_it_or_nothing_is_off_without_it(name: str) -> None:
    without = installed_torch.lacking.get(name)
    assert without is None, f"torch has no {name}: {without}"
