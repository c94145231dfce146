"""Functions with a graph break, and the lines that each repair takes away and adds.

`step` is called with four numbers from zero to three.
"""

from __future__ import annotations

__all__ = ["REPAIRED"]

REPAIRED: dict[str, dict[str, list[str]]] = {
    """\
import torch


def step(x):
    y = x + 1
    print('y', y.shape, y.size(), y.mean())
    return y * 2
""": {
        "Let print wait until the graph ran: reorderable_logging_functions.add(print)": [
            "+ torch._dynamo.config.reorderable_logging_functions.add(print)",
            "-     print('y', y.shape, y.size(), y.mean())",
            "+     print('y', str(y.shape), str(y.size()), y.mean())",
        ],
        "Leave print out where it is compiled": [
            "+     if not torch.compiler.is_compiling():",
            "-     print('y', y.shape, y.size(), y.mean())",
            "+         print('y', y.shape, y.size(), y.mean())",
        ],
    },
    """\
import torch


def step(x):
    if torch.isnan(x).any() or x.sum() > 99:
        print('nan', x)
    return x * 2
""": {
        "Leave the check out where it is compiled": [
            "-     if torch.isnan(x).any() or x.sum() > 99:",
            "+     if not torch.compiler.is_compiling() and (torch.isnan(x).any() or x.sum() > 99):",
        ],
    },
    """\
import torch


def step(x):
    y = x.sin()
    if torch.isnan(y).any() or not x.sum() > 0: x = x * 3
    else: x = x + y
    return x
""": {
        "Compute both and choose: torch.where": [
            "+     x = torch.where(torch.logical_or(torch.isnan(y).any(), torch.logical_not(x.sum() > 0)), x * 3, x + y)",
            "-     if torch.isnan(y).any() or not x.sum() > 0: x = x * 3",
            "-     else: x = x + y",
        ],
        "Branch in the graph: torch.cond": [
            "+     x = torch.cond(torch.logical_or(torch.isnan(y).any(), torch.logical_not(x.sum() > 0)), lambda: x * 3, lambda: x + y)",
            "-     if torch.isnan(y).any() or not x.sum() > 0: x = x * 3",
            "-     else: x = x + y",
        ],
    },
    """\
import torch


def step(x):
    if x.sum().item() > 3:
        x = torch.flip(x, dims=[0])
    return x
""": {
        "Compute both and choose: torch.where": [
            "+     x = torch.where(x.sum() > 3, torch.flip(x, dims=[0]), x)",
            "-     if x.sum().item() > 3:",
            "-         x = torch.flip(x, dims=[0])",
        ],
        "Branch in the graph: torch.cond": [
            "+     x = torch.cond(x.sum() > 3, lambda: torch.flip(x, dims=[0]), lambda: x.clone())",
            "-     if x.sum().item() > 3:",
            "-         x = torch.flip(x, dims=[0])",
        ],
    },
    """\
import torch


def step(x):
    y = torch.zeros(2, 4)
    if x.sum() > 3:
        y[0] = x * 2
    return y
""": {
        "Compute both and choose: torch.where": [
            "+     y[0] = torch.where(x.sum() > 3, x * 2, y[0])",
            "-     if x.sum() > 3:",
            "-         y[0] = x * 2",
        ],
        "Branch in the graph: torch.cond": [
            "+     y[0] = torch.cond(x.sum() > 3, lambda: x * 2, lambda: y[0].clone())",
            "-     if x.sum() > 3:",
            "-         y[0] = x * 2",
        ],
    },
    """\
import torch


def step(x):
    y = x + 1
    print('y', y)
    return y * 2
""": {
        "Let print wait until the graph ran: reorderable_logging_functions.add(print)": [
            "+ torch._dynamo.config.reorderable_logging_functions.add(print)"
        ],
        "Leave print out where it is compiled": [
            "+     if not torch.compiler.is_compiling():",
            "-     print('y', y)",
            "+         print('y', y)",
        ],
    },
    """\
import torch
import warnings


def step(x):
    y = x + 1
    warnings.warn('y')
    return y * 2
""": {
        "Let warnings.warn wait until the graph ran: reorderable_logging_functions.add(warnings.warn)": [
            "+ torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)"
        ],
        "Leave warnings.warn out where it is compiled": [
            "+     if not torch.compiler.is_compiling():",
            "-     warnings.warn('y')",
            "+         warnings.warn('y')",
        ],
    },
    """\
import logging
import torch
log = logging.getLogger('of a test')


def step(x):
    y = x + 1
    log.debug('y')
    return y * 2
""": {
        "Leave log.debug out where it is compiled": [
            "+     if not torch.compiler.is_compiling():",
            "-     log.debug('y')",
            "+         log.debug('y')",
        ],
        "Leave each debug() out where it is compiled: ignore_logging_functions.add(logging.Logger.debug)": [
            "+ torch._dynamo.config.ignore_logging_functions.add(logging.Logger.debug)"
        ],
    },
    """\
import logging as said
import torch


def step(x):
    y = x + 1
    said.error('y')
    return y * 2
""": {
        "Leave said.error out where it is compiled": [
            "+     if not torch.compiler.is_compiling():",
            "-     said.error('y')",
            "+         said.error('y')",
        ],
        "Leave each error() out where it is compiled: ignore_logging_functions.add(said.error)": [
            "+ torch._dynamo.config.ignore_logging_functions.add(said.error)"
        ],
    },
    """\
import torch


def step(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2
""": {
        "Take torch._dynamo.graph_break() away": ["-     torch._dynamo.graph_break()"],
    },
    """\
import torch


def step(x):
    y = (x + 1).sum().item()
    return x * y
""": {
        "Keep it a tensor: detach() instead of item()": [
            "-     y = (x + 1).sum().item()",
            "+     y = (x + 1).sum().detach()",
        ],
        "Capture numbers that depend on values: capture_scalar_outputs = True": [
            "+ torch._dynamo.config.capture_scalar_outputs = True"
        ],
    },
    """\
import torch


def step(x):
    return x * int(x.sum())
""": {
        "Capture numbers that depend on values: capture_scalar_outputs = True": [
            "+ torch._dynamo.config.capture_scalar_outputs = True"
        ],
    },
    """\
import torch


def step(x):
    return x * x.long().sum().tolist()
""": {
        "Capture numbers that depend on values: capture_scalar_outputs = True": [
            "+ torch._dynamo.config.capture_scalar_outputs = True"
        ],
    },
    """\
import torch


def step(x):
    y = x + 1 if x.sum() > 0 else x * 2
    return y
""": {
        "Compute both and choose: torch.where": [
            "-     y = x + 1 if x.sum() > 0 else x * 2",
            "+     y = torch.where(x.sum() > 0, x + 1, x * 2)",
        ],
        "Branch in the graph: torch.cond": [
            "-     y = x + 1 if x.sum() > 0 else x * 2",
            "+     y = torch.cond(x.sum() > 0, lambda: x + 1, lambda: x * 2)",
        ],
    },
    """\
import torch


def step(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x * 3
    return y
""": {
        "Compute both and choose: torch.where": [
            "+     y = torch.where(x.sum() > 0, x + 1, x * 3)",
            "-     if x.sum() > 0:",
            "-         y = x + 1",
            "-     else:",
            "-         y = x * 3",
        ],
        "Branch in the graph: torch.cond": [
            "+     y = torch.cond(x.sum() > 0, lambda: x + 1, lambda: x * 3)",
            "-     if x.sum() > 0:",
            "-         y = x + 1",
            "-     else:",
            "-         y = x * 3",
        ],
    },
    """\
from torch import Tensor


def step(x: Tensor):
    'Doc.'
    if x.sum() < 0:
        return x
    return x + 1
""": {
        "Compute both and choose: torch.where": [
            "+ import torch",
            "+     return torch.where(x.sum() < 0, x, x + 1)",
            "-     if x.sum() < 0:",
            "-         return x",
            "-     return x + 1",
        ],
        "Branch in the graph: torch.cond": [
            "+ import torch",
            "+     return torch.cond(x.sum() < 0, lambda: x.clone(), lambda: x + 1)",
            "-     if x.sum() < 0:",
            "-         return x",
            "-     return x + 1",
        ],
    },
    """\
import torch


def step(x):
    y = x
    if x.sum() > 0: y = x + 1
    return y
""": {
        "Compute both and choose: torch.where": [
            "-     if x.sum() > 0: y = x + 1",
            "+     y = torch.where(x.sum() > 0, x + 1, y)",
        ],
        "Branch in the graph: torch.cond": [
            "-     if x.sum() > 0: y = x + 1",
            "+     y = torch.cond(x.sum() > 0, lambda: x + 1, lambda: y.clone())",
        ],
    },
    """\
import torch


def step(x):
    if x.sum() < 0:
        raise ValueError('no')
    return x + 1
""": {
        "Assert it in the graph, as a RuntimeError": [
            "+     torch._assert_async(torch.logical_not(x.sum() < 0))",
            "-     if x.sum() < 0:",
            "-         raise ValueError('no')",
        ],
    },
    """\
import torch


def step(x):
    if torch.isnan(x).any():
        raise ValueError('nan')
    return x + 1
""": {
        "Assert it in the graph, as a RuntimeError": [
            "+     torch._assert_async(torch.logical_not(torch.isnan(x).any()))",
            "-     if torch.isnan(x).any():",
            "-         raise ValueError('nan')",
        ],
    },
    """\
import torch


def step(x):
    assert x.sum() > 0, f'no {x}'
    return x + 1
""": {
        "Assert it in the graph, as a RuntimeError": [
            "-     assert x.sum() > 0, f'no {x}'",
            "+     torch._assert_async(x.sum() > 0)",
        ],
    },
    """\
import torch


def step(x):
    return x[x > 1] * 2
""": {
        "Capture operators whose sizes depend on values: capture_dynamic_output_shape_ops = True": [
            "+ torch._dynamo.config.capture_dynamic_output_shape_ops = True"
        ],
    },
    """\
import json
import torch


@torch.no_grad()
def step(x):
    return x * json.loads('3')
""": {
        "Make the call once, at the top: _LOADS": [
            "+ _LOADS = json.loads('3')",
            "-     return x * json.loads('3')",
            "+     return x * _LOADS",
        ],
    },
    """\
import json
import torch


class Net(torch.nn.Module):
    def __init__(self):
        torch.nn.Module.__init__(self)
        self.text = '4'

    def forward(self, x):
        return x * json.loads(self.text)

step = Net()
""": {
        "Make the call once, in __init__: self._loads": [
            "+         self._loads = json.loads(self.text)",
            "-         return x * json.loads(self.text)",
            "+         return x * self._loads",
        ],
    },
    """\
import copy
import torch


def step(x):
    return copy.deepcopy(x) * 2
""": {
        "Copy the tensor by clone()": [
            "-     return copy.deepcopy(x) * 2",
            "+     return x.clone() * 2",
        ],
    },
    """\
import torch

@torch.compiler.disable
def inner(x):
    return x + 1


def step(x):
    return inner(x * 2) * 3
""": {
        "Compile inner as well: without @torch.compiler.disable": [
            "- @torch.compiler.disable"
        ],
    },
    """\
import torch


def step(x):
    é = 'ü'; print('𝄞é', x + 1)
    return x + len(é)
""": {
        "Let print wait until the graph ran: reorderable_logging_functions.add(print)": [
            "+ torch._dynamo.config.reorderable_logging_functions.add(print)"
        ],
    },
    """\
import torch


def step(x):
    y = x + 1
    if y.dim():
        torch._dynamo.graph_break()
    return y * 2
""": {
        "Take torch._dynamo.graph_break() away": [
            "-         torch._dynamo.graph_break()",
            "+         pass",
        ],
    },
    """\
import torch as t


def step(x):
    a, b = (x, x + 1) if x.sum() < 0 else (x + 1, x * 2)
    return a * b
""": {
        "Branch in the graph: torch.cond": [
            "-     a, b = (x, x + 1) if x.sum() < 0 else (x + 1, x * 2)",
            "+     a, b = t.cond(x.sum() < 0, lambda: (x.clone(), x + 1), lambda: (x + 1, x * 2))",
        ],
    },
    """\
from torch import relu


def step(x):
    y = relu(x)
    print(
        'y',
        y,
    )
    return y
""": {
        "Let print wait until the graph ran: reorderable_logging_functions.add(print)": [
            "+ import torch",
            "+ torch._dynamo.config.reorderable_logging_functions.add(print)",
        ],
        "Leave print out where it is compiled": [
            "+ import torch",
            "+     if not torch.compiler.is_compiling():",
            "-     print(",
            "+         print(",
        ],
    },
}
