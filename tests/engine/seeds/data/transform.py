# A transform: a module in, a module out; by a new GraphModule or by an edit.
import torch
from torch import nn
from fxls import engine as fx


def transform(m: nn.Module, tracer_class: type = fx.Tracer) -> nn.Module:
    graph: fx.Graph = tracer_class().trace(m)
    return fx.GraphModule(m, graph)


def transform_in_place(m: nn.Module) -> nn.Module:
    gm: fx.GraphModule = fx.symbolic_trace(m)
    gm.graph.find_nodes(op="call_module")[0].args = (
        gm.graph.find_nodes(op="placeholder")[0],
    )
    gm.recompile()
    return gm


model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
x = torch.ones(1, 2)
print(type(transform(model)).__name__, torch.equal(transform(model)(x), model(x)))
print(torch.equal(transform_in_place(transform(model))(x), model(x)))
