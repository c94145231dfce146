# An Interpreter that counts what it runs.
import collections

import torch
from torch import nn

from fxls import engine as fx


class Counted(fx.Interpreter):
    def __init__(self, module):
        super().__init__(module)
        self.runs = collections.Counter()
        self.steps = collections.Counter()

    def run(self, *inputs, **options):
        self.runs["whole"] += 1
        return super().run(*inputs, **options)

    def run_node(self, n):
        before = self.steps.total()
        result = super().run_node(n)
        self.steps[f"{n.op} {n.name}"] += 1
        assert self.steps.total() == before + 1
        return result


class Loudness(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.pool = nn.AvgPool1d(window)

    def forward(self, signal):
        energy = torch.square(self.pool(signal)).amax(dim=-1)
        return torch.log10(energy) * 10


loudness = Loudness(window=2)
counted = Counted(fx.symbolic_trace(loudness))
for size in (8, 6, 2):
    signal = torch.full((1, 2, size), 3.0)
    assert torch.equal(counted.run(signal), loudness(signal))
print(dict(counted.runs))
for step, times in counted.steps.items():
    print(times, step)
