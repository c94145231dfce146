"""What a library wrapped for torch.fx is one node for our tracer as well."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch
import torch.fx

from fxls import engine as fx

LIBRARY = """
import torch
import torch.fx

def drop(x, rate):
    if x.sum() > 0:
        return x * rate
    return x

def uses(x):
    return drop(x, 0.5) + 1

torch.fx.wrap("drop")
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.ModuleType("a_library")
    monkeypatch.setitem(sys.modules, "a_library", module)
    exec(LIBRARY, module.__dict__)
    return module


def test_its_function_is_recorded(library: Any) -> None:
    ours = fx.symbolic_trace(library.uses)
    theirs: Any = torch.fx.symbolic_trace(library.uses)

    assert str(ours.graph) == str(theirs.graph)
    assert 'wrap("a_library_drop")' in ours.code
    assert ours(torch.ones(1)).item() == 1.5
    again = fx.symbolic_trace(ours)
    assert str(again.graph) == str(ours.graph)


def test_its_function_is_its_own_again(library: Any) -> None:
    before = library.drop
    fx.symbolic_trace(library.uses)

    assert library.drop is before
