# A table of the graph.
import torch
from fxls import engine as fx


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.param = torch.nn.Parameter(torch.rand(3, 4))
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(
            torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3
        )


m = MyModule()
gm = fx.symbolic_trace(m)
for node in gm.graph.nodes:
    # The table shows functions with their addresses, so these rows are by hand.
    target = getattr(node.target, "__name__", node.target)
    print(node.op, node.name, target, node.args, node.kwargs, sep=" | ")
gm.graph.print_tabular()
