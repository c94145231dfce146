"""A program that lets torch write kernels of Triton where there is no GPU, under fxls.

torch writes them for the CPU by a setting. They cannot be loaded without Triton, so a
module that has the text and no kernel stands in for what torch would load; all that
comes before is torch's own.

`python -m tests.runtime.inductor.compile_triton STORE`
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import torch

import fxls
from fxls.runtime import finish

any_torch: Any = torch


class Net(torch.nn.Module):
    def forward(self, signal: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        sums = torch.relu(signal + 1)
        scores = (sums @ weight).softmax(-1)
        return torch.relu(scores + 1)


def main(store: str) -> None:
    config: Any = importlib.import_module("torch._inductor.config")
    lowering: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    triton: Any = importlib.import_module("torch.utils._triton")
    triton.triton_hash_with_backend = lambda: "0" * 64
    lowering._compile_to_module_lines = not_loaded
    fxls.install(store)
    signal, weight = torch.ones(8, 16), torch.ones(16, 4)
    with config.patch(cpu_backend="triton", force_disable_caches=True):
        any_torch.compile(Net())(signal, weight)
    finish()


def not_loaded(_lowering: Any, wrapper_code: Any) -> ModuleType:
    module = ModuleType("generated")
    module.__file__ = "generated.py"
    vars(module)["text"] = wrapper_code.value
    vars(module)["call"] = not_run
    return module


def not_run(_arguments: list[Any]) -> tuple[torch.Tensor]:
    return (torch.zeros(8, 4),)


if __name__ == "__main__":
    main(sys.argv[1])
