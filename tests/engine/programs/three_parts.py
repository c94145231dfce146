# A module is traced into a graph, and the graph is written as code.
import torch
from torch import nn

from fxls import engine as fx


class Thermostat(nn.Module):
    def __init__(self, rooms=3):
        super().__init__()
        self.wanted = nn.Parameter(torch.full((rooms,), 20.5))
        self.valve = nn.Linear(rooms, rooms + 1, bias=False)

    def forward(self, measured):
        missing = self.wanted - measured
        return self.valve(missing).clip(-0.25, max=1.5)


thermostat = Thermostat()
recorded = fx.symbolic_trace(thermostat)
print(isinstance(recorded, fx.GraphModule), recorded.graph)
print(recorded.code)
measured = torch.tensor([[18.0, 21.0, 19.5], [20.0, 20.0, 22.0]])
print(torch.equal(recorded(measured), thermostat(measured)))
