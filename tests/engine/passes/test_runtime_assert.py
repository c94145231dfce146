"""Checks of sizes that depend on data, which torch's own pass writes for us."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.runtime_assert import (
    insert_deferred_runtime_asserts as torch_insert,
)

from fxls.engine.passes.runtime_assert import insert_deferred_runtime_asserts
from fxls.engine.torch_fx.bridge import from_torch_fx


def program(x: Any, y: Any) -> Any:
    count = x.nonzero().size(0)
    checks: Any = torch
    checks._check(count * 2 < 70 + y.size(0))
    return torch.zeros(count + 1) + y.sum()


def traced() -> Any:
    inputs = torch.tensor([3, 0, 1, 1]), torch.ones(3)
    return make_fx(program, tracing_mode="symbolic")(*inputs)


def test_the_graph_becomes_that_of_torch_fx_and_checks() -> None:
    theirs, other = traced(), traced()
    ours = from_torch_fx(other)

    insert_deferred_runtime_asserts(ours, other.shape_env, "program")
    torch_insert(theirs, theirs.shape_env, "program")

    assert str(ours.graph) == str(theirs.graph)
    assert ours(torch.ones(4), torch.ones(3)).tolist() == [3, 3, 3, 3, 3]
    with pytest.raises(RuntimeError, match=r"Runtime assertion failed for .*2\*u0"):
        ours(torch.ones(80), torch.ones(3))
