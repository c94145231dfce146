# Calls of one function become calls of another one.
import torch
from fxls import engine as fx


class M(torch.nn.Module):
    def forward(self, x, y):
        return torch.add(x, y)


def transform(m: torch.nn.Module, tracer_class: type = fx.Tracer) -> torch.nn.Module:
    graph: fx.Graph = tracer_class().trace(m)
    for node in graph.nodes:
        if node.op == "call_function":
            if node.target == torch.add:
                node.target = torch.mul
    graph.lint()
    return fx.GraphModule(m, graph)


changed = transform(M())
print(changed.code.strip())
print(changed(torch.tensor(3), torch.tensor(4)))
