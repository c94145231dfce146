# Rules are functions: called with proxies, they write their nodes into a new graph.
import torch
from torch import nn
from torch.nn import functional

from fxls import engine as fx
from fxls.engine.proxy import GraphAppendingTracer


def hardswish(x):
    return x * functional.relu6(x + 3) / 6


def mish(x):
    return torch.tanh(functional.softplus(x)) * x


RULES = {functional.hardswish: hardswish, functional.mish: mish}


class Gates(nn.Module):
    def forward(self, left, right):
        return functional.hardswish(left) - functional.mish(right) ** 2


def spelled_out(model):
    made = fx.Graph()
    recorder = GraphAppendingTracer(made)
    twins = {}
    for node in fx.symbolic_trace(model).graph.nodes:
        rule = RULES.get(node.target)
        if rule is None:
            twins[node] = made.node_copy(node, twins.__getitem__)
        else:
            proxies = (fx.Proxy(twins[one], recorder) for one in node.all_input_nodes)
            twins[node] = rule(*proxies).node
    return fx.GraphModule(model, made)


gates = spelled_out(Gates())
print(gates.graph)
inputs = torch.tensor([-4.0, 0.5, 2.0]), torch.tensor([1.0, 0.0, -1.0])
print(torch.allclose(gates(*inputs), Gates()(*inputs)))
