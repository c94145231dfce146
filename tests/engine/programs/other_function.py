# The calls of one function become calls of another one.
import torch
from torch import nn

from fxls import engine as fx

CHEAPER = {torch.tanh: torch.nn.functional.hardtanh, torch.exp: torch.exp2}


class Envelope(nn.Module):
    def forward(self, signal, decay):
        return torch.tanh(signal) * torch.exp(decay) - torch.tanh(decay)


def cheaper(model):
    graph = fx.Tracer().trace(model)
    calls = (node for node in graph.nodes if node.target in CHEAPER)
    for call in calls:
        call.target = CHEAPER[call.target]
    graph.lint()
    return fx.GraphModule(model, graph)


envelope = cheaper(Envelope())
print(envelope.code)
print(envelope(torch.tensor([0.5, 3.0]), torch.tensor([-2.0, 1.0])))
