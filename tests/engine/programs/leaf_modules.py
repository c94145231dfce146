# A layer of torch.nn is recorded as a call, other modules are traced through.
from torch import nn

from fxls import engine as fx


class Gain(nn.Module):
    def forward(self, x, decibels):
        return x * 10 ** (decibels / 20)


class Amplifier(nn.Module):
    def __init__(self, stages):
        super().__init__()
        self.input = nn.Hardtanh(-2.0, 2.0)
        self.stages = nn.ModuleList(Gain() for _ in range(stages))

    def forward(self, signal):
        for stage in self.stages:
            signal = stage(self.input(signal), decibels=6)
        return signal


class ByName(fx.Tracer):
    """Leaves one module of two alone."""

    def is_leaf_module(self, m, module_qualified_name):
        own = module_qualified_name.endswith(".1")
        return own or super().is_leaf_module(m, module_qualified_name)


amplifier = Amplifier(stages=2)
print(fx.symbolic_trace(amplifier).code)
print(fx.GraphModule(amplifier, ByName().trace(amplifier)).code)
print(fx.Tracer().trace(amplifier.stages[0], {"decibels": 20}))
