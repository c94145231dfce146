# A tracer of one's own.
import torch
from fxls import engine as fx


class MyCustomTracer(fx.Tracer):
    pass


class MyModule(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + torch.ones(3, 4)


mod = MyModule()
traced_graph = MyCustomTracer().trace(mod)
traced = fx.GraphModule(mod, traced_graph)
print(traced.graph)
print(torch.equal(traced(torch.ones(3, 4)), torch.ones(3, 4) * 2))
