"""Whether the times of kernels make up the time of the code that calls them.

``python -m benchmarks.kernel_times`` runs three models of several sizes under
``fxls run --times``, and prints the sum of the kernels beside what a clock around the
calls says that nobody looked into. With the name of a model and a size, it is the
program that is run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.models import Bottleneck, Gpt

any_torch: Any = torch

_STEPS = 65
ROOT = Path(__file__).parent.parent


class _ResNet(nn.Module):
    """One block of a ResNet, and what stands in front of and behind it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.block = Bottleneck(width, 2 * width, downsamples=True)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(functional.relu(self.norm(self.stem(x))), 2)
        return self.head(self.block(x).mean((2, 3)))


class _Sized(nn.Module):
    """A model whose length may be any."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = (x @ x.transpose(-1, -2)).softmax(-1)
        return self.outer(functional.gelu(self.inner(scores @ x))) / x.shape[1]


def gpt(size: int) -> None:
    """Steps of training."""
    model = Gpt(2, size)
    compiled: Any = any_torch.compile(model)
    words = torch.arange(32 * 4).reshape(32, 4) % 32  # its mask is that wide
    for _ in range(_STEPS):
        logits = compiled(words)
        loss: Any = functional.cross_entropy(logits.flatten(0, 1), words.flatten())
        loss.backward()
        model.zero_grad()


def resnet(size: int) -> None:
    """Evaluations."""
    model: Any = any_torch.compile(_ResNet(size).eval())
    images = torch.ones(2, 3, 2 * size, 2 * size)
    with torch.no_grad():
        for _ in range(_STEPS):
            model(images)


def dynamic(size: int) -> None:
    """Steps of training, of two lengths in turns."""
    model: Any = any_torch.compile(_Sized(size), dynamic=True)
    for step in range(_STEPS):
        length = size if step % 2 else size // 2
        model(torch.ones(2, length, size)).sum().backward()


MODELS: dict[str, tuple[Callable[[int], None], tuple[int, ...]]] = {
    "gpt": (gpt, (16, 256)),
    "resnet": (resnet, (8, 64)),
    "dynamic": (dynamic, (16, 256)),
}


def main() -> None:
    """Print the table."""
    print(
        "| model | size | kernels | the code by a clock | kernels of it | looking adds |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    for model, (_, sizes) in MODELS.items():
        for size in sizes:
            kernels, looked, whole = _measured(model, size)
            print(
                f"| {model} | {size} | {kernels * 1e3:.3f} ms | {whole * 1e3:.3f} ms "
                f"| {kernels / whole:.0%} | {looked / whole - 1:+.0%} |",
                flush=True,
            )


def _measured(model: str, size: int) -> tuple[float, float, float]:
    """The seconds of a step: in kernels, in all lines, and by a clock around the calls."""
    # Not below a folder of somebody's, which may have a blank.
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache",
        }

        def fxls(*arguments: str) -> str:
            return subprocess.run(
                [sys.executable, "-m", "fxls", *arguments],
                cwd=folder,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            ).stdout

        store = ("--store", f"{folder}/store")
        program = ("-m", "benchmarks.kernel_times", model, str(size))
        fxls("run", *store, "--times", *program)
        found = json.loads(fxls("runs", "-1", *store, "--json"))["kernels"]
    kernels = sum(one["seconds"] / one["calls"] for one in found)
    code = {
        one["listing"]: (
            one["of_seconds"] / one["calls"],
            one["whole_seconds"] / one["whole_calls"],
        )
        for one in found
    }
    looked, whole = (sum(pair[at] for pair in code.values()) for at in (0, 1))
    return kernels, looked, whole


if __name__ == "__main__":
    if len(sys.argv) == 3:
        torch.set_num_threads(1)  # of several, each waits for the others
        MODELS[sys.argv[1]][0](int(sys.argv[2]))
    else:
        main()
