"""`fxls compare` of programs on a GPU: faults that are named, and programs without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gpu.conftest import Run

pytestmark = pytest.mark.slow

RELU = """\
import torch
import torch._inductor.config

torch._inductor.config.triton.inject_relu_bug_TESTING_ONLY = "accuracy"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x):
        hidden = self.first(x).sin()
        return torch.relu(self.second(hidden) - 0.1).sum(-1) * 2


net = torch.compile(Net().cuda())
net(torch.randn(32, 64, device="cuda")).sum().backward()
"""

PICTURES = """\
import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(inplace=True),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
net = net.cuda().to(memory_format=torch.channels_last)
x = torch.randn(16, 3, 32, 32, device="cuda").to(memory_format=torch.channels_last)
torch.compile(net)(x).square().mean().backward()
"""

ATTENTION = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(64, 192)

    def forward(self, x):
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (one.unflatten(-1, (4, 16)).transpose(1, 2) for one in parts)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + mixed.transpose(1, 2).flatten(-2)


net = torch.compile(Net().cuda())
net(torch.randn(2, 32, 64, device="cuda")).square().sum().backward()
"""

CUDA_GRAPH = """\
import torch

net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda()
compiled = torch.compile(net, mode="reduce-overhead")
for _ in range(6):
    compiled(torch.randn(8, 64, device="cuda")).sum().backward()
    net.zero_grad()
"""


def compared(fxls: Run, program: str) -> Any:
    return json.loads(fxls(program, "compare", "--json", "net.py").stdout)


def test_a_wrong_kernel_of_triton_is_found(fxls: Run) -> None:
    found = compared(fxls, RELU)
    (fault,) = found["faults"]
    (node,) = fault["nodes"]
    assert (fault["kind"], node["target"]) == ("kernel", "torch.ops.aten.relu.default")
    assert node["place"]["line"] == 14


@pytest.mark.parametrize(
    "program", [PICTURES, ATTENTION], ids=["pictures", "attention"]
)
def test_nobody_is_blamed_for_a_training_step(fxls: Run, program: str) -> None:
    found = compared(fxls, program)
    assert (found["verdict"], found["faults"]) == ("right", [])
    whys = {one["why"].partition(":")[0] for one in found["not_compared"]}
    assert not any("random" in why for why in whys)
    assert found["judged"]["kernels"] > 4


def test_a_program_with_a_cuda_graph_is_compared_without_it(fxls: Run) -> None:
    found = compared(fxls, CUDA_GRAPH)
    assert (found["verdict"], found["faults"]) == ("right", [])
    assert [(one["what"], one["why"]) for one in found["not_compared"]] == [
        ("the CUDA graph", "nothing runs in one while it is compared")
    ]
