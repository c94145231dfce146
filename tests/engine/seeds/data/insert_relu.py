# A node is inserted, and used in place of another one.
import torch
from fxls import engine as fx


def double(x):
    return x * 2


traced = fx.symbolic_trace(double)
node = next(n for n in traced.graph.nodes if n.op == "call_function")
with traced.graph.inserting_after(node):
    new_node = traced.graph.call_function(torch.relu, args=(node,))
    node.replace_all_uses_with(new_node, lambda user: user is not new_node)
traced.recompile()
print(traced.code.strip())
print(traced(torch.tensor([-1.0, 1.0])))
