# The three parts of FX: a tracer, a representation, generated code.
import torch
from fxls import engine as fx


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.param = torch.nn.Parameter(torch.rand(3, 4))
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


module = MyModule()
symbolic_traced: fx.GraphModule = fx.symbolic_trace(module)
print(symbolic_traced.graph)
print(symbolic_traced.code.strip())
assert torch.equal(symbolic_traced(torch.ones(3, 4)), module(torch.ones(3, 4)))
