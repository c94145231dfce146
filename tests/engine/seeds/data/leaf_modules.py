# Modules of torch.nn are recorded as calls, others are traced through.
import torch
from fxls import engine as fx


class MySpecialSubmodule(torch.nn.Module):
    def forward(self, x):
        return torch.neg(x)


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.submod = MySpecialSubmodule()

    def forward(self, x):
        return self.submod(self.linear(x))


traced = fx.symbolic_trace(MyModule())
print(traced.code.strip())


class Tracer(fx.Tracer):
    def is_leaf_module(self, m, qualname):
        return isinstance(m, MySpecialSubmodule) or super().is_leaf_module(m, qualname)


print(Tracer().trace(MyModule()))
