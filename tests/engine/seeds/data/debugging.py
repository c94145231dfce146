# Three ways to look at a traced module.
import torch
from fxls import engine as fx


class M(torch.nn.Module):
    def forward(self, x, y):
        return x + y


m = M()
traced = fx.symbolic_trace(m)
print(traced)
print(traced.graph)
for node in traced.graph.nodes:
    print(node.op, node.name, list(node.users), node.all_input_nodes)


def transform_graph(
    module: torch.nn.Module, tracer_class: type = fx.Tracer
) -> torch.nn.Module:
    g = tracer_class().trace(module)
    return fx.GraphModule(module, g)


transformed = transform_graph(traced)
print(transformed)
