"""What the hooks count on in inductor when it writes code."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

from fxls.runtime.producers.compiled_calls import buffers_of, unwritten
from tests.support.programs import needs_inductor

pytestmark = needs_inductor

any_torch: Any = torch


class WrittenError(Exception):
    """Ends a compilation when its code is written."""


def test_buffers_that_no_kernel_writes_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here the sum is given memory, the result gets that memory, and there is one kernel,
    which writes the result.
    """
    config: Any = importlib.import_module("torch._inductor.config")
    triton: Any = importlib.import_module("torch.utils._triton")
    lowering: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    found: dict[str, Any] = {}

    def write(lowering: Any) -> None:
        lowering.codegen()
        found["buffers"] = {str(one.get_name()) for one in lowering.buffers}
        found["unwritten"] = unwritten(lowering)
        found["nodes"] = {
            name: node for name, (node, _) in buffers_of(lowering).items()
        }
        raise WrittenError

    def added(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        return y.sum(-1) + y.amax(-1)

    monkeypatch.setattr(triton, "triton_hash_with_backend", lambda: "0" * 64)
    monkeypatch.setattr(lowering, "compile_to_module", write)
    any_torch.compiler.reset()
    with (
        config.patch(cpu_backend="triton", force_disable_caches=True),
        pytest.raises(Exception, match=WrittenError.__name__),
    ):
        any_torch.compile(added)(torch.ones(8, 16))
    any_torch.compiler.reset()

    assert found == {
        "buffers": {"buf0", "buf1", "buf2", "buf3"},
        "unwritten": {"buf0", "buf1", "buf2"},
        "nodes": {"buf3": "add"},
    }
