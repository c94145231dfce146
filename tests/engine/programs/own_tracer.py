# A tracer of one's own decides what becomes a proxy and which arguments are allowed.
import torch
from torch import nn

from fxls import engine as fx


class Noting(fx.Tracer):
    def __init__(self):
        super().__init__()
        self.noted = []

    def create_node(self, kind, target, *args, **kwargs):
        node = super().create_node(kind, target, *args, **kwargs)
        self.noted.append(f"{kind}: {node}")
        return node


class Masked(nn.Module):
    def forward(self, x):
        return torch.tril(x, diagonal=-1) @ torch.ones(2, 3)


masked, tracer = Masked(), Noting()
graph = tracer.trace(masked)
print(*tracer.noted, sep="\n")
module = fx.GraphModule(tracer.root, graph)
print(type(module).__name__, module.graph)
print(module(torch.full((2, 2), 4.0)).tolist())
